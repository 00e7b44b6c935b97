package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// The API server takes 100 ms for each answer, and a request of the page may take 10 s.
func TestAThousandNamespacesAreOfferedInTime(t *testing.T) {
	for name, row := range map[string]struct {
		all  bool // whether the account may list the Collectors of all namespaces
		fail error
		want []int // which of the namespaces are offered: how many, and the first two
		asks int
	}{
		"to an account that sees all of them": {all: true, want: []int{1000, 0, 1}, asks: 1},
		"to an account that sees each second": {want: []int{500, 0, 2}, asks: 1001},
		"or an error":                         {fail: errors.New("lost"), asks: 1001},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				asked := make(chan string, 2000)
				p := &portal{collectors: interceptor.NewClient(nil, interceptor.Funcs{
					List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
						for i := range 1000 {
							metadata := metav1.ObjectMeta{Name: fmt.Sprintf("tenant-%03d", i)}
							list.(*corev1.NamespaceList).Items = append(list.(*corev1.NamespaceList).Items, corev1.Namespace{ObjectMeta: metadata})
						}
						return nil
					},
					Create: func(ctx context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
						review := object.(*authorizationv1.SelfSubjectAccessReview)
						namespace := review.Spec.ResourceAttributes.Namespace
						asked <- namespace
						select {
						case <-ctx.Done():
							return ctx.Err()
						case <-time.After(100 * time.Millisecond):
						}
						review.Status.Allowed = row.all
						if namespace != "" {
							review.Status.Allowed = namespace[len(namespace)-1]%2 == 0
						}
						if namespace == "tenant-007" {
							return row.fail
						}
						return nil
					},
				})}
				written := httptest.NewRecorder()
				err := brief(p.listNamespaces)(written, httptest.NewRequest(http.MethodGet, "/namespaces", nil))
				g.Expect(asked).To(HaveLen(row.asks))
				if row.fail != nil {
					g.Expect(err).To(MatchError(row.fail))
					return
				}
				g.Expect(err).NotTo(HaveOccurred())
				var offered []string
				g.Expect(json.Unmarshal(written.Body.Bytes(), &offered)).To(Succeed())
				g.Expect(offered).To(HaveLen(row.want[0]))
				g.Expect(offered[:2]).To(Equal([]string{fmt.Sprintf("tenant-%03d", row.want[1]), fmt.Sprintf("tenant-%03d", row.want[2])}))
			})
		})
	}
}
