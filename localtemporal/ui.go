package main

import (
	"fmt"
	"net"
	"strconv"

	"github.com/temporalio/ui-server/v2/server"
	"github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/server_options"
	commonpb "go.temporal.io/api/common/v1"
)

// probe is a workflow that never exists.
var probe = &commonpb.WorkflowExecution{WorkflowId: "millrace-temporal-probe"}

// startUI serves the Web UI, if an address is given, and returns how to stop it.
func startUI(o options) (stop func(), err error) {
	if o.ui == "" {
		return func() {}, nil
	}
	host, port, err := net.SplitHostPort(o.ui)
	if err != nil {
		return nil, fmt.Errorf("UI address: %w", err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, fmt.Errorf("UI address: %w", err)
	}
	ui := server.NewServer(server_options.WithConfigProvider(&config.Config{
		Host: host, Port: number, TemporalGRPCAddress: o.frontend, EnableUI: true,
		DefaultNamespace: o.namespace, DisableNewsFetch: true, HideLogs: true,
		CORS: config.CORS{CookieInsecure: true},
	}))
	go ui.Start() //nolint:errcheck // the UI is a convenience: the server goes on without it
	return ui.Stop, nil
}
