package provider

// The rest of this package's surface, being filled in:
//
//	New(Options{HTTP *outbound.Client, Lookup func(string)(string,bool), Log *slog.Logger}) *Client
//	(*Client) Dispatch(ctx, Request, sink io.Writer) (Outcome, error)
//	(*Client) Poll(ctx, *catalog.Model, handle string, sink io.Writer) (Outcome, error)
//	(*Client) Cancel(ctx, *catalog.Model, handle string) error
//	Assets(*catalog.Model, result []byte) ([]AssetRef, error)
//	Rewrite(result []byte, urls map[string]string) ([]byte, error) // by pointer; every other byte kept
//
// internal/outbound: New(Options) *Client; (*Client).Fetch(ctx, url, Bounds{Bytes, Time}) (*Body{io.ReadCloser, ContentType, Size}, error)
