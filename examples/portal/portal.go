package main

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/explain"
)

const (
	// fieldManager owns the fields that the portal sets. Fields that others set are theirs, and stay.
	fieldManager = client.FieldOwner("portal")

	// maxBody leaves room for 256 KiB of configuration, which is the operator's limit, as a JSON string.
	maxBody = 1 << 20

	// answerWithin is how long the API server may take for anything but a stream.
	answerWithin = 10 * time.Second

	// contentPolicy lets pages load only what the portal serves.
	contentPolicy = "default-src 'self'; img-src data:; frame-ancestors 'none'"
)

//go:embed page
var page embed.FS

// portal answers requests for Collectors.
type portal struct {
	collectors client.WithWatch
	pods       typedcorev1.PodsGetter // for their logs
	namespaces []string               // that the account may see, if it cannot list namespaces
	streams    context.Context        // they end with it
	feeds      *feeds
}

// newPortal returns what serves the page and the Collectors. The page shows the first namespace unless its address names another.
func newPortal(streams context.Context, to *cluster, namespaces, hosts []string) http.Handler {
	p := &portal{
		collectors: to, pods: to.pods, namespaces: namespaces, streams: streams,
		feeds: &feeds{collectors: to, byNamespace: map[string]*feed{}},
	}
	mux := http.NewServeMux()
	mux.Handle("PUT /collectors/{namespace}/{name}", brief(p.put))
	mux.Handle("DELETE /collectors/{namespace}/{name}", brief(p.delete))
	mux.Handle("GET /collectors/{namespace}", brief(p.list))
	mux.Handle("GET /collectors/{namespace}/events", handler(p.events))
	mux.Handle("GET /manifests/{namespace}/{name}", brief(p.getManifest))
	mux.Handle("PUT /manifests/{namespace}", brief(p.putManifest))
	mux.Handle("GET /about/{namespace}/{name}", brief(p.about))
	mux.Handle("GET /namespaces", brief(p.listNamespaces))
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.Handle("GET /page/", http.FileServerFS(page))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("namespace") {
			http.Redirect(w, r, "/?namespace="+url.QueryEscape(namespaces[0]), http.StatusFound)
			return
		}
		http.ServeFileFS(w, r, page, "page/index.html")
	})
	// A page of another site can neither write here nor, by giving this address a name of its own, read.
	return guarded(http.NewCrossOriginProtection().Handler(onlyAs(hosts, mux)))
}

// wanted is what a PUT asks for.
type wanted struct {
	Collector     string `json:"collector"` // the distribution, such as opentelemetry-collector
	Version       string `json:"version"`
	Configuration string `json:"configuration,omitempty"` // as it stands, not encoded
	Tenant        string `json:"tenant"`                  // its name for people
	TenantID      string `json:"tenantID"`
	Cluster       string `json:"cluster"`

	// ConfigurationSecret is where the configuration is if it is not in the Collector.
	ConfigurationSecret *v1alpha1.ConfigurationSecret `json:"configurationSecret,omitempty"`
}

// shown is what the list and the stream say of a Collector.
type shown struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	wanted
	Ready   string    `json:"ready"` // True, False or Unknown
	State   string    `json:"state"` // one of those that the list counts
	Since   time.Time `json:"since"` // when Ready last changed or, if the operator has not seen it, when a client last wrote it
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Cause   string    `json:"cause,omitempty"`  // why it is not ready or its data does not flow, in one sentence
	Keeper  string    `json:"keeper,omitempty"` // the GitOps tool that would change it back, if there is one
}

// show leaves the configuration out, because it may hold credentials.
func show(c *v1alpha1.Collector) shown {
	s := shown{Namespace: c.Namespace, Name: c.Name, Ready: string(metav1.ConditionUnknown), Keeper: explain.Keeper(c), wanted: wanted{
		Collector: c.Spec.Collector.Name, Version: c.Spec.Collector.Version,
		Tenant: c.Spec.Tenant.Reference, TenantID: c.Spec.Tenant.ID, Cluster: c.Spec.Cluster,
		ConfigurationSecret: c.Spec.Collector.ConfigurationSecret,
	}}
	since := written(c)
	for _, condition := range c.Status.Conditions {
		// A status of an older generation says nothing of the latest change, except that the operator does not follow it.
		isCurrent := c.Status.ObservedGeneration == c.Generation || condition.Reason == v1alpha1.ReasonPaused
		if condition.Type == "Ready" && isCurrent && c.DeletionTimestamp == nil {
			s.Ready, s.Reason, s.Message = string(condition.Status), condition.Reason, condition.Message
			since = cmp.Or(condition.LastTransitionTime.Time, since)
		}
	}
	if c.DeletionTimestamp != nil {
		s.Reason, since = deleting, c.DeletionTimestamp.Time
	}
	s.Since = since.UTC()
	s.State = stateOf(&s)
	s.Cause = causeOf(c, &s)
	return s
}

func showAll(items []v1alpha1.Collector, configuration bool) []shown {
	all := make([]shown, len(items))
	for i := range items {
		all[i] = show(&items[i])
		if configuration {
			config := items[i].Spec.Collector
			all[i].Configuration = cmp.Or(string(config.ConfigurationText), string(config.Configuration))
		}
	}
	return all
}

// put creates a Collector, or makes it what is asked for.
func (p *portal) put(w http.ResponseWriter, r *http.Request) error {
	var c wanted
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	body.DisallowUnknownFields()
	if err := body.Decode(&c); err != nil {
		return tooLarge(err)
	}
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error { return p.apply(r, &c) })
	if err != nil {
		return fmt.Errorf("apply the Collector: %w", err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (p *portal) delete(w http.ResponseWriter, r *http.Request) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live, err := p.seen(r)
		if err != nil {
			return err
		}
		return p.collectors.Delete(r.Context(), live, client.Preconditions{UID: &live.UID, ResourceVersion: &live.ResourceVersion})
	})
	if err != nil {
		return fmt.Errorf("delete the Collector: %w", err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// namespacesOf returns the namespaces that a request names: one, or several that are separated by commas. An empty name would be all
// namespaces to the API server.
func namespacesOf(r *http.Request) ([]string, error) {
	names := slices.Compact(slices.Sorted(strings.SplitSeq(r.PathValue("namespace"), ",")))
	if names[0] == "" {
		return nil, badRequest("a namespace has no name; separate names by single commas")
	}
	return names, nil
}

// list answers with the Collectors of some namespaces, and with their configurations if asked for them.
func (p *portal) list(w http.ResponseWriter, r *http.Request) error {
	isWhole := r.URL.Query().Get("configuration") == "true"
	all := []shown{}
	namespaces, err := namespacesOf(r)
	if err != nil {
		return err
	}
	for _, namespace := range namespaces {
		list, err := listAll(r.Context(), p.collectors, namespace, func(collector *v1alpha1.Collector) {
			if !isWhole {
				shorten(collector)
			}
		})
		if err != nil {
			return fmt.Errorf("list Collectors: %w", err)
		}
		all = append(all, showAll(list.Items, isWhole)...)
	}
	return answer(w, all)
}

// tooLarge says why a body cannot be read.
func tooLarge(err error) error {
	if _, is := errors.AsType[*http.MaxBytesError](err); is {
		return fmt.Errorf("read the body: %w", apierrors.NewRequestEntityTooLargeError("configuration: at most 256 KiB"))
	}
	return fmt.Errorf("read the body: %w", badRequest("the body is not the JSON of a collector: "+err.Error()))
}

func answer(w http.ResponseWriter, list any) error {
	text, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode the list: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // a client that has gone does not need it
	return nil
}

// handler answers a request, or returns why not.
type handler func(w http.ResponseWriter, r *http.Request) error

// brief bounds how long a request takes.
func brief(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
		defer cancel()
		return h(w, r.WithContext(ctx))
	}
}

// ServeHTTP passes on what the API server has against a request: its message names the field. The message is not logged,
// because it may quote a value.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := h(w, r)
	refusal, isRefusal := errors.AsType[*apierrors.StatusError](err)
	if isRefusal && refusal.ErrStatus.Code/100 == 4 && !apierrors.IsUnauthorized(err) {
		message := refusal.ErrStatus.Message
		if details := refusal.ErrStatus.Details; details != nil && len(details.Causes) > 1 { // a line each
			lines := []string{details.Name + " is invalid:"}
			for _, cause := range details.Causes {
				lines = append(lines, cause.Field+": "+cause.Message)
			}
			message = strings.Join(lines, "\n")
		}
		// The API server writes "<nil>" for the field of a rule on the whole object. The rule's message names the field.
		http.Error(w, strings.ReplaceAll(message, "<nil>: ", ""), int(refusal.ErrStatus.Code))
	} else if err != nil { // not the fault of the request
		http.Error(w, "the Kubernetes API server does not answer as it should; try again", http.StatusBadGateway)
	}
	if err != nil && !isRefusal {
		slog.Error("cannot answer", "err", err)
	}
	slog.Info("request", "method", r.Method, "path", r.URL.Path, "refusal", apierrors.ReasonForError(err))
}

// guarded has browsers load only what the portal serves, take each answer for what it says it is, and keep none: the files in page are
// small, and change with the portal.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", contentPolicy)
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// onlyAs refuses a request to a name that is not the portal's.
func onlyAs(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err != nil && !slices.Contains(hosts, host) {
			http.Error(w, "not a name of this portal: start it with --hosts="+host, http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
