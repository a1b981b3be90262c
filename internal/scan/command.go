package scan

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/child"
	"github.com/millrace-dev/millrace/internal/domain/asset"
)

// Scanner examines the content of a file.
type Scanner interface {
	Scan(ctx context.Context, a asset.Asset, content io.ReadSeeker) (asset.Scan, error)
}

// Command scans a file with First and then with a program, which reads the file from its standard input. Exit code 0 means
// clean; 1 rejects the file, with the program's output as the reason; any other code, and a timeout, give no verdict. The
// program gets no environment and is killed when this process dies.
type Command struct {
	First   Scanner // scans first; the program does not see a file that First rejects
	Args    []string
	Timeout time.Duration // time limit for one file
}

// NewCommand returns the scanner that runs a command line, split at spaces.
func NewCommand(first Scanner, line string, timeout time.Duration) (Command, error) {
	args := strings.Fields(line)
	if len(args) == 0 {
		return Command{}, errors.New("a scanner needs a program")
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return Command{}, fmt.Errorf("find the scanner: %w", err)
	}
	args[0] = path
	return Command{First: first, Args: args, Timeout: timeout}, nil
}

const (
	reasonBytes = 200         // longest reason, from the program's output
	killWait    = time.Second // time that the output of a killed program may stay open
)

// Scan implements Scanner.
func (c Command) Scan(ctx context.Context, a asset.Asset, content io.ReadSeeker) (asset.Scan, error) {
	found, err := c.First.Scan(ctx, a, content)
	if err != nil || found.Verdict == asset.Rejects {
		return found, err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return asset.Scan{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	said := &prefix{limit: reasonBytes}
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...) //nolint:gosec // the operator's own setting
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = []string{}, content, said, said, killWait
	err = child.Run(cmd)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return asset.Scan{}, fmt.Errorf("the scanner took too long: %w", ctx.Err())
	case err == nil:
		return found, nil
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		found.Verdict, found.Reason = asset.Rejects, said.reason()
		return found, nil
	default:
		return asset.Scan{}, fmt.Errorf("run the scanner: %w: %s", err, said.reason())
	}
}

// prefix keeps the beginning of the written bytes.
type prefix struct {
	bytes.Buffer
	limit int
}

// Write implements io.Writer.
func (p *prefix) Write(b []byte) (int, error) {
	p.Buffer.Write(b[:min(len(b), max(0, p.limit-p.Len()))])
	return len(b), nil
}

func (p *prefix) reason() string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(p.String(), "")), " ")
	return cmp.Or(text, "the scanner rejected the file")
}
