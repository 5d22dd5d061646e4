package image

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// Bounds of what a registry that does not answer costs: connections are tried twice.
const (
	dialWithin  = 8 * time.Second
	againAfter  = time.Second
	connections = 2
)

// errPlain refuses HTTP without TLS.
var errPlain = errors.New("the registry speaks no TLS; --insecure permits HTTP without it")

// push writes an image to its registry.
func push(ctx context.Context, tag name.Tag, built v1.Image, o Options) error {
	base := remote.DefaultTransport.(*http.Transport).Clone()
	base.DialContext = (&net.Dialer{Timeout: dialWithin}).DialContext
	defer base.CloseIdleConnections()
	options := []remote.Option{
		remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithUserAgent("csiglab"),
		remote.WithTransport(&guard{base, o.Insecure}),
		remote.WithRetryBackoff(remote.Backoff{Duration: againAfter, Factor: 1, Steps: connections}),
	}
	shown := make(chan struct{})
	if o.Progress == nil {
		close(shown)
	} else {
		updates := make(chan v1.Update, 100)
		options = append(options, remote.WithProgress(updates))
		go func() {
			defer close(shown)
			for u := range updates {
				if u.Error == nil {
					o.Progress(u.Complete, u.Total)
				}
			}
		}()
	}
	err := remote.Write(tag, built, options...) // closes updates
	<-shown
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return inWords(tag, err)
}

// guard refuses requests without TLS that the user has not permitted: credentials and
// programs would pass in the clear.
type guard struct {
	base     http.RoundTripper
	insecure bool
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "http" && !g.insecure && !loopback(r.URL.Hostname()) {
		return nil, errPlain
	}
	return g.base.RoundTrip(r)
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// inWords says what a registry or the network refuses, and what the user can do.
func inWords(tag name.Tag, err error) error {
	var (
		answer      *transport.Error
		dns         *net.DNSError
		certificate *tls.CertificateVerificationError
		timeout     net.Error
		request     *url.Error
		host        = tag.RegistryStr()
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &certificate):
		return fmt.Errorf("the certificate of %s is not valid here: %w; the variable SSL_CERT_FILE names authorities to trust", host, certificate.Err)
	case errors.As(err, &answer):
		return refused(tag, answer)
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("there is no host %s", dns.Name)
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return errPlain
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no registry listens at %s: connection refused", host)
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("%s does not answer", host)
	case errors.As(err, &request):
		return fmt.Errorf("%s: %w", host, request.Err)
	}
	return err
}

// refused says what the answer of a registry means.
func refused(tag name.Tag, answer *transport.Error) error {
	said := fmt.Sprintf("%d %s", answer.StatusCode, strings.ToLower(http.StatusText(answer.StatusCode)))
	for _, d := range answer.Errors {
		said += ", " + strings.TrimSpace(string(d.Code)+" "+d.Message)
	}
	switch host := tag.RegistryStr(); answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%s does not permit to push to %s (%s); docker login %s stores credentials that may", host, tag.RepositoryStr(), said, host)
	case http.StatusNotFound:
		return fmt.Errorf("%s has no repository %s and makes none, or is no registry (%s)", host, tag.RepositoryStr(), said)
	case http.StatusRequestEntityTooLarge:
		return fmt.Errorf("%s takes no layer as large as csiglab (%s); a proxy before it may have a limit", host, said)
	default:
		return fmt.Errorf("%s answers %s", host, said)
	}
}
