package harness

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Program is this program again, started as another program that it compares Millrace with.
type Program struct {
	Base string // its address
	cmd  *exec.Cmd
}

// Again starts this program with arguments that make it call Listen.
func Again(ctx context.Context, args ...string) (*Program, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &Program{cmd: exec.CommandContext(ctx, self, args...)}
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	p.Base = "http://" + strings.TrimSpace(address)
	return p, err
}

// CPU returns the processor time that the program has used.
func (p *Program) CPU() time.Duration { return CPUOf(p.cmd.Process.Pid) }

// Stop interrupts the program and waits for its end.
func (p *Program) Stop() error {
	err := p.cmd.Process.Signal(os.Interrupt)
	p.cmd.Wait() // the program was interrupted
	return err
}

// Listen prints a free address and serves there until the program is interrupted.
func Listen(ctx context.Context, h http.Handler) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	server := &http.Server{Handler: h}                // a benchmark on loopback
	context.AfterFunc(ctx, func() { server.Close() }) // the end
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
