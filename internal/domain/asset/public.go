package asset

// PublicID is the id under which clients know an asset. It is a lower-case UUID, unique within its account. A client may
// choose it, so that two accounts may have the same one. The public id of an asset whose client chose none is its ID.
type PublicID string

// ParsePublicID accepts the canonical lower-case form only.
func ParsePublicID(s string) (PublicID, error) {
	id, err := ParseID(s)
	return PublicID(id), err
}

// IDOfChoice returns the id of the asset for which the account chose a public id. It differs between accounts, so
// that an account can neither block a public id for another account nor find out whether another account uses it.
func IDOfChoice(account string, chosen PublicID) ID {
	return ID(derive("chosen", account, chosen).String())
}

// PublicID returns the public id of the asset.
func (a Asset) PublicID() PublicID {
	if a.Chosen != "" {
		return a.Chosen
	}
	return PublicID(a.ID)
}
