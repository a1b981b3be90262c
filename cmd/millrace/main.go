// Command millrace runs node graphs as durable jobs and serves them over HTTP.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/millrace-dev/millrace/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once; its children follow
	cmd := cli.Command(os.Stdout, os.Stderr, os.LookupEnv)
	err := cmd.ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "millrace: "+cli.Message(err))
		cli.LogCause(cmd, err)
		os.Exit(cli.ExitCode(err))
	}
}
