package fault

import "strings"

// stateError is implemented by the errors of a database driver.
type stateError interface {
	error
	SQLState() string
}

// Sentence returns the text of err for an operator. It replaces the messages of a database, which may contain names
// of tables and values of rows, by the meaning of their SQLSTATE. The original messages are in the log.
func Sentence(err error) string { return SentenceOf(err.Error(), err) }

// SentenceOf is Sentence for a text that contains the text of err or of a part of it.
func SentenceOf(text string, err error) string {
	for _, of := range stateErrors(err, nil) {
		text = strings.ReplaceAll(text, of.Error(), stateSentence(of.SQLState()))
	}
	return text
}

// stateErrors appends the errors of databases in err's tree to found.
func stateErrors(err error, found []stateError) []stateError {
	if of, ok := err.(stateError); ok { //nolint:errorlint // the walk looks at each error of the tree
		found = append(found, of)
	}
	switch wrapper := err.(type) { //nolint:errorlint // the walk looks at each error of the tree
	case interface{ Unwrap() error }:
		if cause := wrapper.Unwrap(); cause != nil {
			found = stateErrors(cause, found)
		}
	case interface{ Unwrap() []error }:
		for _, cause := range wrapper.Unwrap() {
			found = stateErrors(cause, found)
		}
	}
	return found
}

// stateSentences maps an SQLSTATE, or the class of one, to its meaning.
var stateSentences = map[string]string{
	"22":    "the database refuses a value",
	"23":    "a value breaks a constraint of the database",
	"25006": "the database is a standby, or read-only",
	"28":    "the database refuses this user or its password",
	"3D":    "there is no such database",
	"40":    "the database rolled the transaction back in favour of another one",
	"42501": "the database user lacks a right",
	"42":    "the database lacks a table, a column or a function: is it migrated?",
	"53100": "the database has no space left",
	"53300": "the database has no connection left",
	"53":    "the database has too little memory or space",
	"54":    "a statement exceeds a limit of the database",
	"55":    "the database waited too long for a lock",
	"57014": "the database ended a statement that took too long",
	"57":    "the database is starting up or shutting down",
	"58":    "the database cannot use its own files",
	"MR":    "the database refuses what would break a rule of this service",
	"P0":    "the database refuses what would break a rule of this service",
	"XX":    "the database failed inside",
}

func stateSentence(state string) string {
	sentence, ok := stateSentences[state]
	if !ok && len(state) >= 2 {
		sentence, ok = stateSentences[state[:2]]
	}
	if !ok {
		sentence = "the database refuses a statement"
	}
	return sentence + " (SQLSTATE " + state + ")"
}
