package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"syscall"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/metrics/promserver"
	"github.com/csiglab/csiglab/orchestrator/labs/live"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// prometheus implements command.Server.
type prometheus struct{}

// Serve implements command.Server.
func (prometheus) Serve(ctx context.Context, r command.ServeRequest) (err error) {
	listener, err := listen(ctx, r.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	user := ctx
	ctx, fail := context.WithCancelCause(user)
	defer fail(nil)
	server, err := promserver.New(promserver.Config{Token: r.Token, Interval: r.Interval, LocalNames: r.LocalNames, Limits: r.Limits, Say: r.Say, Fail: fail})
	if err != nil {
		return err
	}
	defer func() {
		if end := server.Close(); err == nil {
			err = end
		}
	}()
	for _, l := range r.Labs {
		server.Scrape(l.ID, &scrapedLab{id: l.ID, list: r.List})
	}
	for _, folder := range r.Folders {
		loaded, err := server.Load(ctx, folder, r.Options)
		if err != nil {
			return &command.LoadError{Err: err}
		}
		r.Say(fmt.Sprintf("%s: run %q, %d series, %s to %s; model time is stretched %d times%s\n  in Grafana's address: %s", folder, loaded.Run, loaded.Series,
			loaded.From.Format(timeOfRun), loaded.To.Format(timeOfRun), loaded.Stretch, others(&loaded), loaded.Range()))
	}
	if r.All {
		go watchLabs(ctx, r, server)
	}
	if err := r.Print(fmt.Sprintf("http://%s/\n", listener.Addr())); err != nil {
		return err
	}
	if err := serveUntil(ctx, listener, server.Handler(), promserver.MaxHeader(&r.Limits)); err != nil {
		return err
	}
	if user.Err() == nil {
		return context.Cause(ctx) // the server cannot go on
	}
	return nil
}

// watchInterval is how often serve without arguments looks for labs.
const watchInterval = 2 * time.Second

// watchLabs scrapes all labs, and those that come later, until ctx ends.
func watchLabs(ctx context.Context, r command.ServeRequest, server *promserver.Server) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		list, err := r.List(ctx)
		if err != nil && ctx.Err() == nil {
			r.Say("labs: " + err.Error())
		}
		for _, l := range list {
			if l.State != runs.Held && l.State != runs.Running || slices.Contains(server.Labs(), l.ID) {
				continue
			}
			if _, err := live.Targets(&l); err == nil {
				r.Say(fmt.Sprintf("lab %s: %s, %s", l.ID, l.Name, fmt.Sprint(len(l.Nodes), " nodes")))
				server.Scrape(l.ID, &scrapedLab{id: l.ID, list: r.List})
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// listen listens at an address.
func listen(ctx context.Context, address string) (net.Listener, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("--listen %s: the port is in use, perhaps by another csiglab serve or a Prometheus; --listen 127.0.0.1:0 takes a free one", address)
	}
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w", address, cause.Of(err))
	}
	return l, nil
}

// endOfServe is how long requests that are under way may take after Ctrl-C.
const endOfServe = 2 * time.Second

// serveUntil serves until ctx ends, which is no error. When it returns, all connections are
// closed. The head of a request has at most header bytes.
func serveUntil(ctx context.Context, l net.Listener, h http.Handler, header int) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: header}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		last, cancel := context.WithTimeout(context.Background(), endOfServe)
		defer cancel()
		if server.Shutdown(last) != nil {
			server.Close() // requests that take longer end here
		}
	})
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-closed // Serve returns when the shutdown begins
	return nil
}
