package main

import (
	"context"
	"fmt"
	"io"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/metrics/promserver"
	"github.com/csiglab/csiglab/metrics/series"
)

// WriteOpenMetrics implements command.Server.
func (prometheus) WriteOpenMetrics(ctx context.Context, folder string, o series.Options, w io.Writer) (summary string, err error) {
	server, err := promserver.New(promserver.Config{})
	if err != nil {
		return "", err
	}
	defer server.Close() //nolint:errcheck // what it has written is temporary
	loaded, err := server.Load(ctx, folder, o)
	if err != nil {
		return "", &command.LoadError{Err: err}
	}
	if err := server.WriteOpenMetrics(ctx, w); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d series, %d samples, %s to %s; model time is stretched %d times%s", loaded.Series, loaded.Samples,
		loaded.From.Format(timeOfRun), loaded.To.Format(timeOfRun), loaded.Stretch, others(&loaded)), nil
}

// others says how many ports have no series of their own.
func others(l *promserver.Loaded) string {
	if l.OtherPorts == 0 {
		return ""
	}
	return fmt.Sprintf("; %d ports are together under the name %s, as there are more than %d", l.OtherPorts, series.OtherPorts, series.MostPorts)
}

// timeOfRun is the form of the times of runs on the terminal.
const timeOfRun = "2006-01-02T15:04:05.000Z07:00"
