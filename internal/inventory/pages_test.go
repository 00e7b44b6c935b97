package inventory

import (
	"context"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// paged is an API server with some Secrets, which answers with pages.
type paged struct {
	client.Reader
	count, largest int
}

func (p *paged) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	begin, _ := strconv.Atoi(asked.Continue)
	end := min(p.count, begin+int(asked.Limit))
	p.largest = max(p.largest, end-begin)
	secrets, _ := list.(*corev1.SecretList)
	for i := begin; i < end; i++ {
		secrets.Items = append(secrets.Items, corev1.Secret{Data: map[string][]byte{strconv.Itoa(i): nil}})
	}
	if end < p.count {
		secrets.Continue = strconv.Itoa(end)
	}
	return nil
}

func TestAListOfManyObjectsIsReadPageByPage(t *testing.T) {
	for _, count := range []int{0, 1, pageSize, pageSize + 1, 1000} {
		server, seen := &paged{count: count}, map[string]bool{}
		err := Each(t.Context(), server, &corev1.SecretList{}, func(item runtime.Object) error {
			secret, _ := item.(*corev1.Secret)
			for key := range secret.Data {
				seen[key] = true
			}
			return nil
		})
		if err != nil || len(seen) != count || server.largest > pageSize {
			t.Errorf("of %d objects %d are seen, and at once %d: %v", count, len(seen), server.largest, err)
		}
	}
}
