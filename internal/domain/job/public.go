package job

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
)

// PublicID is the id under which clients know a job. It is a lower-case UUID, unique within its account. A client may
// choose it, so that two accounts may have the same one. The public id of a job whose client chose none is its ID.
type PublicID string

// ParsePublicID accepts the canonical lower-case form only.
func ParsePublicID(s string) (PublicID, error) {
	id, err := ParseID(s)
	return PublicID(id), err
}

// choices is the namespace of the ids of jobs whose clients chose a public id. It must never change: if an account
// chooses a public id again, it must get the id of the existing job.
var choices = uuid.MustParse("c1f4c27e-6c0b-5d0e-9a3f-0b9d5a8f5e62")

// IDOfChoice returns the id of the job for which the account chose a public id: a version 5 UUID of the two. It
// differs between accounts, so that an account can neither block a public id for another account nor find out whether
// another account uses it.
func IDOfChoice(account string, chosen PublicID) ID {
	key, err := json.Marshal([]string{account, string(chosen)})
	if err != nil {
		panic(err) // strings always marshal
	}
	return ID(uuid.NewSHA1(choices, key).String())
}

// PublicID returns the public id of the job.
func (j Job) PublicID() PublicID {
	if j.Chosen != "" {
		return j.Chosen
	}
	return PublicID(j.ID)
}

// IDs returns the id of the job for operators, followed by the public id if it differs.
func (j Job) IDs() string {
	if j.Chosen == "" {
		return string(j.ID)
	}
	return fmt.Sprintf("%s (public id %s)", j.ID, j.Chosen)
}
