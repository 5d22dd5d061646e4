package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // users of kubeconfigs by OpenID Connect
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// Connect connects to the cluster of a context of the user's kubeconfig ($KUBECONFIG,
// ~/.kube/config); an empty name means the current one. Without any kubeconfig, in a pod, it
// connects to the pod's own cluster. An empty namespace means the context's, or "default".
// It asks the server for its version, so that a cluster that does not answer within
// reachWithin is an error here. The errors wrap ErrContext, ErrUnreachable or ErrForbidden.
func Connect(ctx context.Context, contextName, namespace string) (*Cluster, error) {
	quiet()
	c := &Cluster{Context: contextName, Namespace: namespace, times: defaultTimes()}
	if err := c.configure(); err != nil {
		return nil, err
	}
	if err := c.reach(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// quiet silences client-go's own log, which goes to standard error otherwise. What matters
// of it is in errors.
var quiet = sync.OnceFunc(func() { klog.SetLogger(logr.Discard()) })

// configure reads the kubeconfig.
func (c *Cluster) configure() error {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.WarnIfAllMissing = false
	rules.Warner = func(error) {} // a file that is missing is an error below
	raw, err := rules.Load()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrContext, err)
	}
	if len(raw.Contexts) == 0 {
		return c.inside()
	}
	names := strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", ")
	if c.Context == "" {
		c.Context = raw.CurrentContext
	}
	of, known := raw.Contexts[c.Context]
	switch {
	case c.Context == "":
		return fmt.Errorf("%w: no context is the current one; name one as kubernetes:CONTEXT; there are %s", ErrContext, names)
	case !known:
		return fmt.Errorf("%w: there is no context %q; there are %s", ErrContext, c.Context, names)
	}
	if c.Namespace == "" {
		c.Namespace = of.Namespace
	}
	config, err := clientcmd.NewNonInteractiveClientConfig(*raw, c.Context, &clientcmd.ConfigOverrides{}, rules).ClientConfig()
	if err != nil {
		return fmt.Errorf("%w: context %q: %w", ErrContext, c.Context, err)
	}
	return c.use(config)
}

// inside connects to the cluster of the pod that this process runs in.
func (c *Cluster) inside() error {
	config, err := rest.InClusterConfig()
	if err != nil || c.Context != "" {
		file := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
		if file == "" {
			file = filepath.Join("~", clientcmd.RecommendedHomeDir, clientcmd.RecommendedFileName)
		}
		return fmt.Errorf("%w: there are no contexts in %s; let KUBECONFIG name the file of your cluster", ErrContext, file)
	}
	if text, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace"); err == nil && c.Namespace == "" {
		c.Namespace = strings.TrimSpace(string(text))
	}
	return c.use(config)
}

// use makes the client of a configuration.
func (c *Cluster) use(config *rest.Config) error {
	if c.Namespace == "" {
		c.Namespace = metav1.NamespaceDefault
	}
	config = rest.CopyConfig(config)
	config.UserAgent = Manager
	config.WarningHandler = rest.NoWarnings{}
	// A sweep follows the logs of as many pods as run at once. The server limits clients
	// itself (API priority and fairness).
	config.QPS, config.Burst = 100, 200
	c.Server, c.config = config.Host, config
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("%w: context %q: %w", ErrContext, c.Context, err)
	}
	c.client = client
	return nil
}

// reach asks the server for its version.
func (c *Cluster) reach(ctx context.Context) error {
	within, cancel := context.WithTimeoutCause(ctx, reachWithin, fmt.Errorf("no answer within %v", reachWithin))
	defer cancel()
	type answer struct {
		version string
		err     error
	}
	answered := make(chan answer, 1)
	go func() { // a plugin for credentials does not heed the context
		info, err := discovery.ToDiscoveryInterfaceWithContext(c.client.Discovery()).ServerVersionWithContext(within)
		if err != nil {
			answered <- answer{err: err}
			return
		}
		answered <- answer{version: info.GitVersion}
	}()
	var got answer
	select {
	case got = <-answered:
	case <-within.Done():
		got.err = context.Cause(within)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case within.Err() != nil:
		got.err = context.Cause(within)
	}
	if got.err != nil {
		return c.explain("ask for its version", got.err)
	}
	if c.Version = got.version; !strings.HasPrefix(c.Version, "v") {
		return fmt.Errorf("%w: server %s does not answer as a Kubernetes API server (version %q)", ErrUnreachable, c.Server, c.Version)
	}
	return nil
}

// call bounds a call that is not a stream.
func call(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, callWithin, fmt.Errorf("no answer within %v", callWithin))
}

// digest returns a short digest of texts.
func digest(texts ...string) string {
	sum := sha256.Sum256([]byte(Manager + "\x00" + strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:6])
}
