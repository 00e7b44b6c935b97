package operator

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/cache"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// reviewsPerSecond is how often clients that were never allowed can make the operator ask the API server.
	reviewsPerSecond = 5

	// clientLasts is for how long a client that was allowed does not share reviewsPerSecond with others.
	clientLasts = time.Hour
)

// protectMetrics lets only those read metrics over TLS who may, and refuses a certificate that cannot be loaded.
func protectMetrics(options *server.Options) error {
	if options.SecureServing {
		options.FilterProvider = reviewed
	}
	if options.CertDir != "" {
		// Without it the server would sign one itself, and clients that verify it could not read the metrics.
		certificate, key := filepath.Join(options.CertDir, "tls.crt"), filepath.Join(options.CertDir, "tls.key")
		if _, err := tls.LoadX509KeyPair(certificate, key); err != nil {
			return fmt.Errorf("load the certificate for metrics, see --metrics-cert-dir: %w", err)
		}
	}
	return nil
}

// reviewed serves clients that may get the path /metrics. controller-runtime's filter does that too, but it asks as often as
// strangers like, needs the right to review tokens in the whole cluster, and adds 3 MB to the binary.
func reviewed(cfg *rest.Config, _ *http.Client) (server.Filter, error) {
	anonymous, err := authorizationclient.NewForConfig(rest.AnonymousClientConfig(cfg))
	if err != nil {
		return nil, fmt.Errorf("create client for access reviews: %w", err)
	}
	limit := flowcontrol.NewTokenBucketRateLimiter(reviewsPerSecond, 2*reviewsPerSecond)
	reviews := reviewer{anonymous.RESTClient(), limit, cache.NewExpiring()}
	return func(log logr.Logger, next http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			status, err := reviews.review(r)
			if err != nil {
				log.Error(err, "review a request for metrics")
			}
			if status != http.StatusOK {
				http.Error(w, http.StatusText(status), status)
				return
			}
			next.ServeHTTP(w, r)
		}), nil
	}, nil
}

// reviewer asks the API server with the clients' own tokens, so the operator needs no right to ask about others.
type reviewer struct {
	anonymous rest.Interface
	limit     flowcontrol.RateLimiter
	allowed   *cache.Expiring // clients, by a hash of their token
}

// review returns 200 for a request that is allowed, or the status that refuses it.
func (v reviewer) review(r *http.Request) (int, error) {
	token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found || token == "" {
		return http.StatusUnauthorized, nil
	}
	client := sha256.Sum256([]byte(token))
	if _, known := v.allowed.Get(client); !known && !v.limit.TryAccept() {
		return http.StatusTooManyRequests, nil
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"},
	}}
	err := v.anonymous.Post().Resource("selfsubjectaccessreviews").
		SetHeader("Authorization", "Bearer "+token).Body(review).Do(r.Context()).Into(review)
	switch {
	case apierrors.IsUnauthorized(err):
		return http.StatusUnauthorized, nil
	case err != nil:
		return http.StatusInternalServerError, fmt.Errorf("review access: %w", err)
	case !review.Status.Allowed:
		return http.StatusForbidden, nil
	}
	v.allowed.Set(client, true, clientLasts)
	return http.StatusOK, nil
}
