package grafana

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	gapi "github.com/grafana/grafana-api-golang-client"

	"github.com/csiglab/csiglab/internal/plain"
)

// Errors of Push.
var (
	ErrConfig      = errors.New("wrong configuration") // the Config's fault
	ErrUnreachable = errors.New("it cannot be reached")
	ErrNoGrafana   = errors.New("it is not Grafana")
	ErrToken       = errors.New("it does not accept the token")
	ErrPermission  = errors.New("the token may not do this")
	ErrOld         = errors.New("it is too old")
)

// defaultTimeout is how long one request may take.
const defaultTimeout = 8 * time.Second

// mostBytes is how long an answer of the server may be.
const mostBytes = 32 << 20

// transport does what package gapi has no place for: contexts, limits, and errors with a
// type.
type transport struct {
	ctx     context.Context
	timeout time.Duration
	base    http.RoundTripper
	secrets secrets
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(t.ctx, t.timeout)
	defer cancel()
	response, err := t.base.RoundTrip(request.WithContext(ctx))
	if err != nil {
		return nil, t.unreachable(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, mostBytes+1))
	switch {
	case err != nil:
		return nil, t.unreachable(err)
	case len(body) > mostBytes:
		return nil, fmt.Errorf("%w: an answer has more than %d MB", ErrNoGrafana, mostBytes>>20)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	switch code := response.StatusCode; {
	case code >= 300 && code < 400:
		return nil, fmt.Errorf("%w: it redirects to %q", ErrNoGrafana, t.secrets.shown(response.Header.Get("Location"), mostShown))
	case code == http.StatusUnauthorized:
		return nil, fmt.Errorf("%w: %s", ErrToken, t.secrets.message(body))
	case code == http.StatusForbidden:
		return nil, fmt.Errorf("%w: %s", ErrPermission, t.secrets.message(body))
	case code >= 400 && code != http.StatusNotFound: // which gapi has an error for
		return nil, fmt.Errorf("status %d: %s", code, t.secrets.message(body))
	}
	return response, nil
}

func (t *transport) unreachable(err error) error {
	var timedOut net.Error
	switch {
	case t.ctx.Err() != nil:
		return t.ctx.Err()
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timedOut) && timedOut.Timeout():
		return fmt.Errorf("%w: no answer within %v", ErrUnreachable, t.timeout)
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// secrets are texts that a hostile server may echo, and that nobody is to see; "" is none.
type secrets []string

// mostShown is how many runes of a server's text are shown.
const mostShown = 200

// shown returns a text of the server for the terminal.
func (s secrets) shown(text string, most int) string {
	for _, secret := range s {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "TOKEN")
		}
	}
	return plain.Text(text, most)
}

// message returns the message of an answer of Grafana, or the beginning of any other text.
func (s secrets) message(body []byte) string {
	var m struct{ Message string }
	if json.Unmarshal(body, &m) == nil && m.Message != "" {
		return s.shown(m.Message, mostShown)
	}
	return fmt.Sprintf("%q", s.shown(strings.TrimSpace(string(body)), mostShown))
}

// client is Grafana's API.
type client struct {
	*gapi.Client
	secrets
	url   *url.URL
	token string
	http  *http.Client
}

// newClient returns the client of a server whose requests end with ctx.
func newClient(ctx context.Context, address *url.URL, token string, timeout time.Duration, others ...string) (*client, error) {
	hidden := secrets(append(others, token))
	h := &http.Client{
		Transport:     &transport{ctx, timeout, &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}, hidden},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	c, err := gapi.New(address.String(), gapi.Config{APIKey: token, Client: h, RetryStatusCodes: []string{"999"}})
	if err != nil {
		return nil, err
	}
	return &client{Client: c, secrets: hidden, url: address, token: token, http: h}, nil
}

// close releases the client's connections.
func (c *client) close() { c.http.CloseIdleConnections() }

// get asks for what package gapi does not know.
func (c *client) get(path string, into any) error {
	u := c.url.JoinPath(path)
	request, err := http.NewRequest(http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case response.StatusCode == http.StatusNotFound:
		return gapi.ErrNotFound{BodyContents: body}
	}
	return json.Unmarshal(body, into)
}

// absent reports whether the server does not have what was asked for.
func absent(err error) bool {
	var not gapi.ErrNotFound
	return errors.As(err, &not)
}

// bare returns an error, which may have a text of the server, for the terminal. It lacks what
// net/http puts before it, method and address.
func (s secrets) bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return &bareError{err, s.shown(err.Error(), 3*mostShown)}
}

type bareError struct {
	err  error
	text string
}

func (e *bareError) Error() string { return e.text }
func (e *bareError) Unwrap() error { return e.err }
