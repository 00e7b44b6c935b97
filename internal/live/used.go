package live

import (
	"strings"

	"github.com/kube8/kube8-operator/internal/cache"
)

// Used is what pods use, also of what the informer cache does not show yet: informers of other kinds are later.
type Used map[string]bool

// UsedBy returns what is used, from texts as UsesOf returns them.
func UsedBy(uses ...string) Used {
	all := Used{}
	for _, some := range uses {
		for use := range strings.FieldsSeq(some) {
			all[use] = true
		}
	}
	return all
}

// Has tells whether pods use an object, or may.
func (u Used) Has(what Reference) bool { return u[cache.Everything] || u[cache.UseOf(what.Use())] }
