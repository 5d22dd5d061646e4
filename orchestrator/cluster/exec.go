package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	exit "k8s.io/client-go/util/exec"
)

// Size is the size of a terminal, in characters.
type Size struct{ Columns, Rows uint16 }

// Exec runs a command in a pod's container and returns its exit code. in, out and errs may
// be nil. The end of in is the end of the command's standard input. When ctx ends, Exec
// returns its error; the command learns of it only by its streams, which break.
func (c *Cluster) Exec(ctx context.Context, pod string, args []string, in io.Reader, out, errs io.Writer) (int, error) {
	return c.exec(ctx, pod, args, remotecommand.StreamOptions{Stdin: in, Stdout: out, Stderr: errs})
}

// ExecTerminal is Exec in a terminal, of the sizes that sizes sends; the channel may be nil.
// What the command writes to its standard error comes to out too.
func (c *Cluster) ExecTerminal(ctx context.Context, pod string, args []string, in io.Reader, out io.Writer, sizes <-chan Size) (int, error) {
	o := remotecommand.StreamOptions{Stdin: in, Stdout: out, Tty: true}
	if sizes != nil {
		o.TerminalSizeQueue = &sizeQueue{ctx, sizes}
	}
	return c.exec(ctx, pod, args, o)
}

func (c *Cluster) exec(ctx context.Context, pod string, args []string, o remotecommand.StreamOptions) (int, error) {
	task := fmt.Sprintf("run %s in pod %s", args[0], pod)
	url := c.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(c.Namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: container, Command: args, Stdin: o.Stdin != nil, Stdout: o.Stdout != nil, Stderr: o.Stderr != nil, TTY: o.Tty,
		}, scheme.ParameterCodec).URL()
	webSocket, err := remotecommand.NewWebSocketExecutor(c.config, http.MethodGet, url.String())
	if err != nil {
		return -1, c.explain(task, err)
	}
	spdy, err := remotecommand.NewSPDYExecutor(c.config, http.MethodPost, url)
	if err != nil {
		return -1, c.explain(task, err)
	}
	executor, err := remotecommand.NewFallbackExecutor(webSocket, spdy, fallback)
	if err != nil {
		return -1, c.explain(task, err)
	}
	err = executor.StreamWithContext(ctx, o)
	var code exit.CodeExitError
	switch {
	case err == nil:
		return 0, nil
	case ctx.Err() != nil:
		return -1, context.Cause(ctx)
	case errors.As(err, &code):
		return code.Code, nil
	}
	return -1, c.explainUpgrade(task, err)
}

// sizeQueue hands sizes of a terminal to client-go.
type sizeQueue struct {
	ctx   context.Context
	sizes <-chan Size
}

// Next implements remotecommand.TerminalSizeQueue.
func (q *sizeQueue) Next() *remotecommand.TerminalSize {
	select {
	case s, open := <-q.sizes:
		if open {
			return &remotecommand.TerminalSize{Width: s.Columns, Height: s.Rows}
		}
	case <-q.ctx.Done():
	}
	return nil
}
