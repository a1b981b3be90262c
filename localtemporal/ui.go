package main

import (
	"net"
	"strconv"

	"github.com/temporalio/ui-server/v2/server"
	"github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/server_options"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// probe is a workflow that never exists.
var probe = &commonpb.WorkflowExecution{WorkflowId: "millrace-temporal-probe"}

// startUI serves the Web UI, if an address is given, and returns that address and how to stop it.
// The UI is a convenience: the server goes on without it, address "", when its own cannot be had.
func startUI(o options, logger log.Logger) (address string, stop func()) {
	if o.ui == "" {
		return "", func() {}
	}
	host, port, err := uiAddress(o.ui)
	if err != nil {
		logger.Error("no Web UI", tag.Error(err))
		return "", func() {}
	}
	ui := server.NewServer(server_options.WithConfigProvider(&config.Config{
		Host: host, Port: port, TemporalGRPCAddress: o.frontend, EnableUI: true,
		DefaultNamespace: o.namespace, DisableNewsFetch: true, HideLogs: true,
		CORS: config.CORS{CookieInsecure: true},
	}))
	go func() {
		if err := ui.Start(); err != nil {
			logger.Error("the Web UI ended", tag.Error(err))
		}
	}()
	return o.ui, ui.Stop
}

// uiAddress splits an address that can be listened on now: the UI itself would end the whole
// process where it cannot.
func uiAddress(address string) (host string, port int, err error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	if port, err = strconv.Atoi(service); err != nil {
		return "", 0, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", 0, err
	}
	return host, port, l.Close()
}
