package main

import (
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/temporalio/ui-server/v2/server/api"
	"github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/csrf"
	"github.com/temporalio/ui-server/v2/server/headers"
	"github.com/temporalio/ui-server/v2/server/route"
	"github.com/temporalio/ui-server/v2/ui"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// probe is a workflow that never exists.
var probe = &commonpb.WorkflowExecution{WorkflowId: "millrace-temporal-probe"}

// unixPrefix is the prefix of an address of the Web UI that is the path of a Unix socket.
const unixPrefix = "unix:"

// headerTimeout bounds the time in which a client of the Web UI must send the header of its request.
const headerTimeout = 15 * time.Second

// startUI serves the Web UI, if an address is given. It returns that address and a function that stops the UI. The UI
// is optional: if its address cannot be used, the server continues without it, and the returned address is "".
func startUI(o options, logger log.Logger) (address string, stop func()) {
	if o.ui == "" {
		return "", func() {}
	}
	handler, err := uiHandler(o)
	if err != nil {
		logger.Error("no Web UI", tag.Error(err))
		return "", func() {}
	}
	listener, err := listenUI(o.ui)
	if err != nil {
		logger.Error("no Web UI", tag.Error(err))
		return "", func() {}
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("the Web UI ended", tag.Error(err))
		}
	}()
	return o.ui, func() { _ = server.Close() } // the process ends anyway
}

// listenUI listens on HOST:PORT or on unix:PATH. The socket that a killed server left is replaced.
func listenUI(address string) (net.Listener, error) {
	path, isSocket := strings.CutPrefix(address, unixPrefix)
	if !isSocket {
		return net.Listen("tcp", address)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return net.Listen("unix", path)
}

// uiHandler builds the Web UI without the listener that the UI's own server would open. The UI cannot change workflows unless o allows it.
func uiHandler(o options) (http.Handler, error) {
	provider, err := config.NewConfigProviderWithRefresh(&config.Config{
		TemporalGRPCAddress: o.frontend, EnableUI: true, DefaultNamespace: o.namespace, DisableNewsFetch: true, HideLogs: true,
		DisableWriteActions: !o.uiWrites, CORS: config.CORS{CookieInsecure: true},
	})
	if err != nil {
		return nil, err
	}
	assets, err := ui.Assets()
	if err != nil {
		return nil, err
	}
	if assets, err = fs.Sub(assets, "local"); err != nil {
		return nil, err
	}
	e := echo.New()
	e.Use(middleware.Recover(), middleware.Gzip(), middleware.Secure())
	e.Use(csrf.EnsureTokenCookie(false), middleware.CSRFWithConfig(csrf.MiddlewareConfig(provider, false)))
	route.SetHealthRoute(e)
	if err := route.SetAPIRoutes(e, provider, []api.Middleware{headers.WithForwardHeaders([]string{"Caller-Type"})}); err != nil {
		return nil, err
	}
	if err := route.SetUIRoutes(e, "", assets); err != nil {
		return nil, err
	}
	route.SetRenderRoute(e, "")
	return e, nil
}
