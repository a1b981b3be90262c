// Command millrace-temporal is the Temporal server of local mode: all four services and the Web UI in one process, with
// databases in a given PostgreSQL. It is a separate program in a separate module, so that Millrace itself links only
// the SDK. It serves only loopback and is not meant for deployments, which connect Millrace to a Temporal cluster.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// version is that of this program: the release of Temporal's server in it, and a checksum of the sources. The build sets it.
var version = "dev"

// options are the command line.
type options struct {
	postgresHost string // directory of the Unix socket, or a host name
	postgresPort int
	postgresUser string
	database     string // the visibility store is beside it, with _visibility
	frontend     string // HOST:PORT of the gRPC frontend
	ui           string // HOST:PORT or unix:PATH of the Web UI, "" = none
	uiWrites     bool   // the Web UI may change workflows
	basePort     int    // first of the seven inner loopback ports
	namespace    string
	retention    time.Duration
	maxConns     int
	logLevel     string
	logFile      string
	tethered     bool
	profiles     int  // loopback port of the profiles of Go's runtime, 0 = none
	version      bool // print the version and do nothing else
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("millrace-temporal", flag.ContinueOnError)
	f.StringVar(&o.postgresHost, "postgres-host", "127.0.0.1", "PostgreSQL host, or the directory of its Unix socket")
	f.IntVar(&o.postgresPort, "postgres-port", 5432, "PostgreSQL port")
	f.StringVar(&o.postgresUser, "postgres-user", "postgres", "PostgreSQL user; the password comes from PGPASSWORD")
	f.StringVar(&o.database, "database", "temporal", "database; NAME_visibility is used beside it")
	f.StringVar(&o.frontend, "frontend-addr", "127.0.0.1:7233", "address of the gRPC frontend")
	f.StringVar(&o.ui, "ui-addr", "", "address of the Web UI, HOST:PORT or unix:PATH; empty = none")
	f.BoolVar(&o.uiWrites, "ui-writes", false, "let the Web UI change workflows: end, signal, reset them")
	f.IntVar(&o.basePort, "base-port", 0, "first of seven ports for inner traffic on loopback; 0 = choose free ones")
	f.StringVar(&o.namespace, "namespace", "default", "namespace to register")
	f.DurationVar(&o.retention, "retention", 72*time.Hour, "how long closed workflows are kept, for a namespace made now")
	f.IntVar(&o.maxConns, "max-conns", 20, "PostgreSQL connections per store")
	f.StringVar(&o.logLevel, "log-level", "warn", "debug, info, warn, error or fatal")
	f.StringVar(&o.logFile, "log-file", "", "file for the log, which is kept below 20 MB with two earlier ones; empty = standard error")
	f.BoolVar(&o.tethered, "exit-with-stdin", false, "stop when standard input ends, as it does with the process that started this one")
	f.IntVar(&o.profiles, "profile-port", 0, "port on loopback for the profiles of Go's runtime, below /debug/pprof; 0 = none")
	f.BoolVar(&o.version, "version", false, "print the version and exit")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return o, nil
}

func main() {
	o, err := parse(os.Args[1:])
	if err != nil {
		os.Exit(2)
	}
	if o.version {
		fmt.Println(version)
		return
	}
	tuneMemory()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	if o.tethered {
		go func() {
			io.Copy(io.Discard, os.Stdin) //nolint:errcheck // any end will do
			stop()
		}()
	}
	err = run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "millrace-temporal: "+err.Error())
		os.Exit(1)
	}
}

// run prepares the databases, serves until ctx ends and stops cleanly.
func run(ctx context.Context, o options) error {
	logger := newLogger(o)
	settled, err := prepare(ctx, o, logger)
	if err != nil {
		return err
	}
	values := &settings{StaticClient: tuning()}
	values.settled.Store(settled)
	stopServer, err := startServer(o, values, logger)
	if err != nil {
		return err
	}
	defer stopServer()
	if err := registerNamespace(ctx, o); err != nil {
		return err
	}
	values.settled.Store(true)
	ui, stopUI := startUI(o, logger)
	defer stopUI()
	fmt.Printf("ready frontend=%s ui=%s\n", o.frontend, ui)
	<-ctx.Done()
	return nil
}
