// Portal is an example of an application that drives kube8-operator. Over HTTP it creates, changes, deletes and lists
// Collectors and streams their readiness, and it serves a page that does so by click.
//
// It has no state and no rights of its own: it may do what the Kubernetes API server allows its ServiceAccount, which is
// bound to the role in deploy in the namespaces of its tenants.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// grace is how long requests may take to end when the portal is told to.
const grace = 10 * time.Second

// options are the flags.
type options struct {
	listen, kubeconfig, namespaces, hosts string
}

func main() {
	var o options
	flag.StringVar(&o.listen, "listen", "127.0.0.1:8080", "address to serve on")
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "file that says which cluster, and as whom "+
		"(default $KUBECONFIG, then ~/.kube/config, then the ServiceAccount of the pod)")
	flag.StringVar(&o.namespaces, "namespaces", "", "further namespaces, separated by commas, that the page offers if the account "+
		"cannot list namespaces; it never offers one whose Collectors the account cannot list")
	flag.StringVar(&o.hosts, "hosts", "localhost", "names, separated by commas, by which browsers reach the portal; "+
		"an IP address is always one")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: portal [flags]\n\nServes tenants' Collectors over HTTP, and a page to click on.")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	if err := run(ctx, o); err != nil {
		slog.Error("portal cannot go on", "err", err)
		os.Exit(1)
	}
}

// run serves until the context ends.
func run(ctx context.Context, o options) error {
	// client-go and controller-runtime log here too, and say nothing of what is in a request.
	ctrllog.SetLogger(logr.FromSlogHandler(slog.Default().Handler()))
	to, namespace, err := connect(o.kubeconfig)
	if err != nil {
		return err
	}
	namespaces := []string{namespace}
	if o.namespaces != "" {
		namespaces = append(namespaces, strings.Split(o.namespaces, ",")...)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listen on --listen=%s: %w", o.listen, err)
	}
	server := &http.Server{
		Handler:           newPortal(ctx, to, namespaces, strings.Split(o.hosts, ",")),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	slog.Info("serving", "url", "http://"+listener.Addr().String())
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return fmt.Errorf("some requests did not end within %s: %w", grace, errors.Join(err, server.Close()))
	}
	return nil
}

// cluster has the clients of the portal's account: one for objects, and one for logs.
type cluster struct {
	client.WithWatch
	pods typedcorev1.PodsGetter
}

// connect returns the clients for a cluster, and the namespace that the kubeconfig, or the pod, is in.
func connect(kubeconfig string) (*cluster, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("find a cluster; --kubeconfig names one: %w", err)
	}
	config.QPS = -1 // all readers share these clients, and the API server has priority and fairness to hold them back
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("find the kubeconfig's namespace: %w", err)
	}
	scheme := runtime.NewScheme()
	err = errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme),
		authorizationv1.AddToScheme(scheme))
	if err != nil {
		return nil, "", fmt.Errorf("tell the client about kinds: %w", err)
	}
	objects, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, "", fmt.Errorf("connect to the cluster: %w", err)
	}
	logs, err := typedcorev1.NewForConfig(config)
	if err != nil {
		return nil, "", fmt.Errorf("connect to the cluster: %w", err)
	}
	return &cluster{objects, logs}, namespace, nil
}
