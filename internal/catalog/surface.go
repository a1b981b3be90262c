package catalog

// The rest of this package's surface, being filled in:
//
//	Load(Options) (*Catalog, error)
//	(*Catalog) Watch(ctx, every time.Duration, report func(error)) // reloads on change, keeps the old snapshot on errors
//	(*Model) Validate(body []byte) []Violation    // nil = accepted; also nil without an input schema
//	(*Model) UnknownFields(body []byte) []Violation // for reject_unknown_fields
//	(*Model) Document(version, baseURL string) (document []byte, etag string, err error)
//	IsObject(body []byte) bool                     // one JSON object and nothing else
