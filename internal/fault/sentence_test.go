package fault_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/fault"
)

type stateError struct{ words, state string }

func (e stateError) Error() string    { return e.words + " (SQLSTATE " + e.state + ")" }
func (e stateError) SQLState() string { return e.state }

func TestSentenceReplacesTheErrorTextOfADatabase(t *testing.T) {
	t.Parallel()
	missing := stateError{`ERROR: relation "job_admissions" does not exist`, "42P01"}
	value := stateError{`ERROR: invalid input syntax for type uuid: "secret"`, "22P02"}
	for want, err := range map[string]error{
		"no database is part of it": errors.New("no database is part of it"),
		"read queues: the database lacks a table, a column or a function: is it migrated? (SQLSTATE 42P01)": fmt.Errorf("read queues: %w",
			missing),
		"it is away: list: the database refuses a value (SQLSTATE 22P02)": fault.Wrap(fmt.Errorf("list: %w",
			value), fault.Unavailable, "", "it is away"),
		"the database refuses a value (SQLSTATE 22P02)\nplain": errors.Join(value,
			errors.New("plain")),
		"the database refuses a statement (SQLSTATE 0Z002)": stateError{
			"ERROR: whatever",
			"0Z002",
		},
		"the database lets nobody in: the database has no connection left (SQLSTATE 53300)": fmt.Errorf("the database lets "+
			"nobody in: %w", stateError{"FATAL: sorry, too many clients already", "53300"}),
	} {
		require.Equal(t, want, fault.Sentence(err))
	}
	require.Contains(t, fmt.Errorf("read queues: %w", missing).Error(), "job_admissions", "the log has the words")
}
