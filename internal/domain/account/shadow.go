package account

import "strings"

// shadowPrefix begins the ids of hidden accounts. Accounts that somebody creates have UUIDs, or the id LocalID.
const shadowPrefix = "shadow-of-"

// Shadow returns the id of the hidden account whose jobs run recorded inputs of an account through other versions of its
// deployments. It has no keys, tier, credit, endpoints or subscribers, reads the files of the account, and is billed to nobody.
func Shadow(of string) string { return shadowPrefix + of }

// ShadowOf returns the account that a hidden account belongs to.
func ShadowOf(id string) (of string, ok bool) { return strings.CutPrefix(id, shadowPrefix) }

// Reads returns the account whose files jobs of an account read.
func Reads(id string) string {
	of, _ := ShadowOf(id)
	return of
}
