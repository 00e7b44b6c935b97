package operator

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// mapper remembers the kinds of groups without a dot. They are Kubernetes' own: a CustomResourceDefinition's group has one. The library
// goes through all groups of the cluster for each object that is rendered, and for each that is applied.
type mapper struct {
	meta.RESTMapper
	known sync.Map // of *meta.RESTMapping, by schema.GroupVersionKind
}

func newMapper(cfg *rest.Config, client *http.Client) (meta.RESTMapper, error) {
	all, err := apiutil.NewDynamicRESTMapper(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("create the REST mapper: %w", err)
	}
	return &mapper{RESTMapper: all}, nil
}

// RESTMapping returns where the API server has a kind.
func (m *mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if strings.Contains(kind.Group, ".") || len(versions) != 1 {
		return m.RESTMapper.RESTMapping(kind, versions...) //nolint:wrapcheck // callers look for errors of the library
	}
	key := kind.WithVersion(versions[0])
	if known, isKnown := m.known.Load(key); isKnown {
		mapping, _ := known.(*meta.RESTMapping)
		return mapping, nil
	}
	mapping, err := m.RESTMapper.RESTMapping(kind, versions...)
	if err == nil {
		m.known.Store(key, mapping)
	}
	return mapping, err //nolint:wrapcheck // as above
}
