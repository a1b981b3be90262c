//go:build !linux

package disk

import (
	"errors"
	"os"
)

// clone makes a file that shares the blocks of another one.
func clone(*os.File, string) error { return errors.ErrUnsupported }
