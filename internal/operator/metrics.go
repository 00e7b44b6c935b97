package operator

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// metricsServer returns how metrics are served. A certificate is read again when it changes.
func metricsServer(opts Options) (server.Options, error) {
	options := server.Options{
		BindAddress: opts.MetricsBindAddress, SecureServing: opts.MetricsSecure, CertDir: opts.MetricsCertDir,
	}
	if opts.MetricsSecure {
		options.FilterProvider = reviewed
	}
	if opts.MetricsCertDir != "" {
		// Without it the server would sign one itself, and nobody who verifies it could read the metrics.
		certificate, key := filepath.Join(opts.MetricsCertDir, "tls.crt"), filepath.Join(opts.MetricsCertDir, "tls.key")
		if _, err := tls.LoadX509KeyPair(certificate, key); err != nil {
			return server.Options{}, fmt.Errorf("load the certificate for metrics, see --metrics-cert-dir: %w", err)
		}
	}
	return options, nil
}

const (
	// reviewsPerSecond is how often clients that were never allowed can make the operator ask the API server.
	reviewsPerSecond = 5

	// verdictLasts is for how long the API server is not asked again about the same token and path, and clientLasts for how
	// long a client that was allowed does not share reviewsPerSecond with others.
	verdictLasts, clientLasts = 10 * time.Second, time.Hour
)

// reviewed serves clients that may get the requested path, by the API server's TokenReview and SubjectAccessReview.
// controller-runtime's own filter does the same with a generic API server, which is a seventh of the binary.
func reviewed(cfg *rest.Config, httpClient *http.Client) (server.Filter, error) {
	authentication, err := authenticationclient.NewForConfigAndClient(cfg, httpClient)
	if err != nil {
		return nil, fmt.Errorf("create client for token reviews: %w", err)
	}
	authorization, err := authorizationclient.NewForConfigAndClient(cfg, httpClient)
	if err != nil {
		return nil, fmt.Errorf("create client for access reviews: %w", err)
	}
	reviews := reviewer{
		tokens: authentication.TokenReviews(), accesses: authorization.SubjectAccessReviews(),
		limit:    flowcontrol.NewTokenBucketRateLimiter(reviewsPerSecond, 2*reviewsPerSecond),
		verdicts: cache.NewExpiring(), clients: cache.NewExpiring(),
	}
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

type reviewer struct {
	tokens   authenticationclient.TokenReviewInterface
	accesses authorizationclient.SubjectAccessReviewInterface
	limit    flowcontrol.RateLimiter
	verdicts *cache.Expiring // statuses, by what identifies a request
	clients  *cache.Expiring // what identifies a request that was allowed
}

// review returns 200 for a request that is allowed, or the status that refuses it.
func (v reviewer) review(r *http.Request) (int, error) {
	token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found || token == "" {
		return http.StatusUnauthorized, nil
	}
	id := sha256.Sum256([]byte(r.Method + " " + r.URL.Path + " " + token))
	if verdict, found := v.verdicts.Get(id); found {
		status, _ := verdict.(int)
		return status, nil
	}
	if _, known := v.clients.Get(id); !known && !v.limit.TryAccept() {
		return http.StatusTooManyRequests, nil
	}
	status, err := v.ask(r, token)
	if err == nil {
		v.verdicts.Set(id, status, verdictLasts)
	}
	if status == http.StatusOK {
		v.clients.Set(id, true, clientLasts)
	}
	return status, err
}

// ask asks the API server.
func (v reviewer) ask(r *http.Request, token string) (int, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	review, err := v.tokens.Create(r.Context(), review, metav1.CreateOptions{})
	if err != nil {
		return http.StatusInternalServerError, fmt.Errorf("review token: %w", err)
	}
	if !review.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	allowed, err := v.allowed(r.Context(), review.Status.User, r)
	if err != nil {
		return http.StatusInternalServerError, err
	}
	if !allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}

func (v reviewer) allowed(ctx context.Context, user authenticationv1.UserInfo, r *http.Request) (bool, error) {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, value := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(value)
	}
	review, err := v.accesses.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: r.URL.Path, Verb: strings.ToLower(r.Method)},
	}}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("review access: %w", err)
	}
	return review.Status.Allowed, nil
}
