//go:build unix

package localcluster

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/millrace-dev/millrace/internal/child"
)

// serverUser returns the user of the server process: this process's user, unless that is root, which PostgreSQL
// refuses.
func serverUser() (*child.User, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "_postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		return &child.User{UID: uint32(uid), GID: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody to run it as: add one, or run as " +
		"another user")
}

// traversable checks that the server's user can reach dir, which the user owns.
func traversable(dir string, u child.User) error {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fmt.Errorf("PostgreSQL data: %w", err)
	}
	for parent := filepath.Dir(dir); ; parent = filepath.Dir(parent) {
		info, err := os.Stat(parent)
		if err != nil {
			return fmt.Errorf("PostgreSQL data: %w", err)
		}
		if !maySearch(info, u) {
			return fmt.Errorf("running as root, PostgreSQL gets uid %d, which cannot enter %s: choose a data directory elsewhere (for example "+
				"/var/lib/millrace), or chmod o+x %s",
				u.UID, parent, parent)
		}
		if parent == filepath.Dir(parent) {
			return nil
		}
	}
}

func maySearch(info os.FileInfo, u child.User) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return true // unknown: the server reports the error
	}
	switch mode := info.Mode().Perm(); {
	case stat.Uid == u.UID:
		return mode&0o100 != 0
	case stat.Gid == u.GID:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}

// maxSocketPath is the longest path of a Unix socket on Linux, without its final zero. Other systems allow 103;
// PostgreSQL puts a lock file with a longer name beside the socket.
const maxSocketPath = 103

// makeSocketDir creates the directory of the socket: in the cluster's directory if that path is short enough,
// otherwise in the directory for temporary files, under a name derived from the path.
func (c *Cluster) makeSocketDir() error {
	c.socket = filepath.Join(c.dir, "run")
	if c.checkSocket() != nil {
		sum := sha256.Sum256([]byte(c.dir))
		c.socket = filepath.Join(os.TempDir(), "millrace-"+hex.EncodeToString(sum[:6]))
	}
	if err := c.checkSocket(); err != nil {
		return err
	}
	if err := c.makeDir(c.socket); err != nil {
		return err
	}
	return private(c.socket, userOf(c.user))
}

// checkSocket returns an error if the path of the socket cannot be used. A comma would make the path a list, and some
// clients do not decode escaped characters in a connection string.
func (c *Cluster) checkSocket() error {
	if n := len(c.socketFile()); n > maxSocketPath {
		return fmt.Errorf("the path of the PostgreSQL socket is too long (%d bytes, %d are allowed): choose a shorter data directory or TMPDIR",
			n, maxSocketPath)
	}
	if c.socket != (&url.URL{Path: c.socket}).EscapedPath() || strings.ContainsAny(c.socket, "+,&;=:@") {
		return fmt.Errorf("the path of the PostgreSQL socket, %s, has spaces or signs in it: choose another data directory or TMPDIR", c.socket)
	}
	return nil
}

func (c *Cluster) socketFile() string {
	return filepath.Join(c.socket, ".s.PGSQL."+strconv.Itoa(port))
}

// private checks that dir is a directory that only its user can enter: another user may have created it in the
// directory for temporary files.
func private(dir string, u child.User) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("socket directory: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || ok && stat.Uid != u.UID {
		return fmt.Errorf("socket directory %s is not private to uid %d: remove it", dir, u.UID)
	}
	return nil
}
