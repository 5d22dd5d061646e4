package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	//lint:ignore SA1019 the types of client-go and its port-forward are still these
	"k8s.io/apimachinery/pkg/util/httpstream"
)

// explain returns an error of a call in the user's words, with one of this package's errors.
// task says what was asked for, such as "make Job x". An error that has a class, and the end
// of a context, stay as they are.
func (c *Cluster) explain(task string, err error) error {
	if err == nil {
		return nil
	}
	for _, known := range []error{ErrContext, ErrUnreachable, ErrForbidden, ErrImage, ErrUnschedulable, ErrRefused, ErrGone, context.Canceled} {
		if errors.Is(err, known) {
			return err
		}
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code != 0 {
		return c.explainStatus(task, err, status.Status())
	}
	return fmt.Errorf("%w: %s: server %s: %s", ErrUnreachable, task, c.Server, c.connection(err))
}

// connection returns what broke a connection, and what to do about it.
func (c *Cluster) connection(err error) string {
	var address *net.OpError
	var lookup *net.DNSError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var syntax *json.SyntaxError
	cause := err
	if u := (*url.Error)(nil); errors.As(err, &u) {
		cause = u.Err // without the URL, which stands before
	}
	switch {
	case errors.As(err, &authority):
		return "its certificate is not of the authority that the kubeconfig names (certificate-authority); is it the right cluster, and the kubeconfig new enough?"
	case errors.As(err, &name):
		return fmt.Sprintf("its certificate is for another name: %v", name)
	case errors.As(err, &invalid):
		return fmt.Sprintf("its certificate is not valid: %v", invalid)
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "it does not speak TLS; does the kubeconfig say https where the server speaks http?"
	case errors.As(err, &lookup):
		return fmt.Sprintf("there is no address of %s: %v", lookup.Name, lookup.Err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused; is the API server up, and the address right?"
	case errors.As(err, &syntax), strings.Contains(err.Error(), "invalid character"):
		return "it does not answer as a Kubernetes API server"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time; is it up, and reachable from this machine?"
	case errors.As(err, &address) && address.Timeout():
		return "no answer; is it up, and reachable from this machine?"
	}
	return strings.TrimSpace(cause.Error())
}

// explainStatus explains an answer of the server that is an error.
func (c *Cluster) explainStatus(task string, err error, s metav1.Status) error {
	text := strings.TrimSpace(s.Message)
	if text == "unknown" || strings.Contains(text, `("unknown")`) { // client-go has not read it
		text = fmt.Sprintf("%s (%d)", strings.ToLower(http.StatusText(int(s.Code))), s.Code)
	}
	switch {
	case s.Code == 403 && strings.Contains(text, "exceeded quota"):
		return fmt.Errorf("%w: %s: %s; free what the quota counts, or have it raised", ErrUnschedulable, task, text)
	case s.Code == 403 && strings.Contains(text, "failed quota"):
		return fmt.Errorf("%w: %s: %s", ErrUnschedulable, task, text)
	case s.Code == 403 && strings.Contains(text, "violates PodSecurity"):
		return fmt.Errorf("%w: %s: %s; use another namespace, or label this one pod-security.kubernetes.io/enforce=baseline or privileged", ErrRefused, task, text)
	case s.Code == 403 && (strings.Contains(text, "admission webhook") || strings.Contains(text, "denied the request") || strings.Contains(text, "being terminated") || strings.Contains(text, "ValidatingAdmissionPolicy")):
		return fmt.Errorf("%w: %s: %s", ErrRefused, task, text)
	case s.Code == 403:
		return fmt.Errorf("%w: %s: %s; csiglab doctor --on kubernetes says which rights are missing", ErrForbidden, task, text)
	case s.Code == 401:
		return fmt.Errorf("%w: %s: server %s does not know the user of the kubeconfig (401); log in again or renew its credentials", ErrForbidden, task, c.Server)
	case s.Code == 404 && s.Details != nil && s.Details.Kind == "namespaces":
		return fmt.Errorf("%w: %s: there is no namespace %s; kubectl create namespace %[3]s, or name another one with --namespace", ErrRefused, task, s.Details.Name)
	case s.Code == 404 && s.Details != nil && s.Details.Name != "":
		return fmt.Errorf("%w: %s: %s", ErrGone, task, text)
	case s.Code == 404:
		return fmt.Errorf("%w: %s: server %s: it has no such resource (404); is it a Kubernetes API server, and %s or newer?", ErrUnreachable, task, c.Server, oldest)
	case s.Code == 429 || s.Code >= 500:
		return fmt.Errorf("%w: %s: server %s: error %d: %s", ErrUnreachable, task, c.Server, s.Code, text)
	case s.Code == 400 || s.Code == 409 || s.Code == 413 || s.Code == 422:
		return fmt.Errorf("%w: %s: %s", ErrRefused, task, text)
	}
	return fmt.Errorf("%w: %s: error %d: %w", ErrRefused, task, s.Code, err)
}

// explainUpgrade explains why a connection into a pod was not made. The server's error comes
// as text, since it stands in the answer to a request for another protocol.
func (c *Cluster) explainUpgrade(task string, err error) error {
	text := err.Error()
	var upgrade *httpstream.UpgradeFailureError
	if errors.As(err, &upgrade) && upgrade.Cause != nil {
		text = upgrade.Cause.Error()
	}
	for _, prefix := range []string{"unable to upgrade streaming request: ", "unable to upgrade connection: ", "Internal error occurred: "} {
		for strings.HasPrefix(text, prefix) {
			text = text[len(prefix):]
		}
	}
	switch {
	case strings.HasPrefix(text, "pods ") && strings.HasSuffix(text, "not found"), strings.Contains(text, "cannot exec into a container in a completed pod"),
		strings.Contains(text, "pod is not running"), strings.Contains(text, "container not found"):
		return fmt.Errorf("%w: %s: %s", ErrGone, task, text)
	case strings.Contains(text, "is forbidden: User"):
		return c.explainStatus(task, err, metav1.Status{Code: 403, Message: text})
	case strings.HasPrefix(text, "Unauthorized"):
		return c.explainStatus(task, err, metav1.Status{Code: 401, Message: text})
	case strings.Contains(text, "executable file not found"), strings.Contains(text, "failed to exec in container"):
		return fmt.Errorf("%w: %s: %s", ErrRefused, task, text)
	}
	return c.explain(task, err)
}

// temporary reports whether a call may succeed when it is repeated.
func temporary(err error) bool { return errors.Is(err, ErrUnreachable) }

// refusal returns the error of an event that says why pods are not made.
func (c *Cluster) refusal(task, message string) error {
	message = strings.TrimPrefix(strings.TrimSpace(message), "Error creating: ")
	if strings.Contains(message, "is forbidden") {
		err := c.explainStatus(task, nil, metav1.Status{Code: 403, Message: message})
		if !errors.Is(err, ErrForbidden) {
			return err
		}
	}
	return fmt.Errorf("%w: %s: %s", ErrRefused, task, message)
}
