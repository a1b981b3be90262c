package driving

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/fault"
)

// signatures are the first bytes of files by the suffix of their name, each at its offset. They detect a page that a
// server, or a proxy in front of it, returns in place of the file.
var signatures = map[string][]signature{
	".png":    {{0, "\x89PNG\r\n\x1a\n"}},
	".apng":   {{0, "\x89PNG\r\n\x1a\n"}},
	".jpg":    {{0, "\xff\xd8\xff"}},
	".jpeg":   {{0, "\xff\xd8\xff"}},
	".webp":   {{0, "RIFF"}},
	".gif":    {{0, "GIF8"}},
	".wav":    {{0, "RIFF"}},
	".flac":   {{0, "fLaC"}, {0, "ID3"}},
	".mp3":    {{0, "ID3"}, {0, "\xff"}},
	".opus":   {{0, "OggS"}},
	".ogg":    {{0, "OggS"}},
	".mp4":    {{4, "ftyp"}},
	".mov":    {{4, "ftyp"}, {4, "moov"}, {4, "mdat"}, {4, "wide"}},
	".webm":   {{0, "\x1aE\xdf\xa3"}},
	".mkv":    {{0, "\x1aE\xdf\xa3"}},
	".exr":    {{0, "v/1\x01"}},
	".glb":    {{0, "glTF"}},
	".latent": {{8, "{"}},
}

type signature struct {
	offset int
	bytes  string
}

// fetched is a file of a server whose first bytes match its name.
type fetched struct {
	*bufio.Reader
	io.Closer

	mediaType string // "" = the server does not say
}

// fetch opens a file of a server, of at most limit bytes and at most the operator's limit. The caller closes it.
func (d *Driver) fetch(ctx context.Context, s comfyui.Server, f comfyui.File, limit int64) (*fetched, error) {
	limit = min(limit, d.opts.MaxOutput)
	content, err := s.Fetch(ctx, f, limit)
	if err != nil {
		return nil, tooLarge(err, f, limit)
	}
	r := bufio.NewReaderSize(content, 64<<10)
	if err := checkBeginning(r, f); err != nil {
		return nil, errors.Join(tooLarge(err, f, limit), content.Close())
	}
	return &fetched{r, content, content.MediaType}, nil
}

// checkBeginning refuses a file whose first bytes do not match the suffix of its name. A file with another suffix may
// begin with any bytes.
func checkBeginning(r *bufio.Reader, f comfyui.File) error {
	wanted, known := signatures[strings.ToLower(path.Ext(f.Name))]
	if !known {
		return nil
	}
	head, err := r.Peek(longestBeginning)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for _, w := range wanted {
		if len(head) >= w.offset && bytes.HasPrefix(head[w.offset:], []byte(w.bytes)) {
			return nil
		}
	}
	return fault.New(fault.Unavailable, fault.CodeServerGarbage, "the content that the server returns for %s is not a file of this type",
		f.Name)
}

// longestBeginning is the number of bytes of a file that are checked.
const longestBeginning = 16
