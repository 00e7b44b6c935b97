package live

import (
	"context"
	"errors"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// paged is an API server with some Secrets, which answers with pages.
type paged struct {
	client.Reader
	count, largest, requests int
}

func (p *paged) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	p.requests++
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
	const most = pageSize * mostPages
	for _, count := range []int{0, 1, pageSize, pageSize + 1, most, most + 1, 6 * most} {
		server, seen := &paged{count: count}, map[string]bool{}
		err := Each(t.Context(), server, &corev1.SecretList{}, func(item runtime.Object) error {
			secret, _ := item.(*corev1.Secret)
			for key := range secret.Data {
				seen[key] = true
			}
			return nil
		})
		_, isTooMany := errors.AsType[*TooManyError](err)
		if len(seen) != min(count, most) || isTooMany != (count > most) || (err == nil) == isTooMany {
			t.Errorf("of %d objects %d are seen: %v", count, len(seen), err)
		}
		if server.largest > pageSize || server.requests > mostPages {
			t.Errorf("of %d objects %d are read at once, by %d requests", count, server.largest, server.requests)
		}
	}
}
