package catalog

// documents caches a model's rendered schema documents.
type documents struct{}
