package app

import (
	"context"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/api/admin"
)

// serveOperators serves metrics and the admin API where the configuration has them. What it returns is
// public with the admin API in front, where that has no address of its own.
func (in *instance) serveOperators(ctx context.Context, group *errgroup.Group, public http.Handler) (http.Handler, error) {
	if in.cfg.AdminToken == "" && in.cfg.MetricsAddr == "" {
		return public, nil
	}
	told := in.openMetrics(ctx, group).Handler()
	if in.cfg.MetricsAddr != "" {
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", told)
		if err := in.serveAt(ctx, group, in.cfg.MetricsAddr, mux); err != nil {
			return nil, err
		}
	}
	if in.cfg.AdminToken == "" {
		return public, nil
	}
	operators, err := in.adminHandler(told)
	if err != nil {
		return nil, err
	}
	if in.cfg.AdminAddr != "" {
		return public, in.serveAt(ctx, group, in.cfg.AdminAddr, operators)
	}
	if public == nil {
		return nil, nil //nolint:nilnil // a process without the API serves nothing on its address
	}
	mux := http.NewServeMux()
	mux.Handle(admin.Prefix+"/", operators)
	mux.Handle("/", public)
	return mux, nil
}

func (in *instance) serveAt(ctx context.Context, group *errgroup.Group, addr string, h http.Handler) error {
	l, err := listen(addr)
	if err != nil {
		return err
	}
	group.Go(func() error { return serveHTTP(ctx, l, h, in.cfg.StopAfter) })
	return nil
}
