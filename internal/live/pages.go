package live

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pageSize is how many objects are read from the API server at once. Anybody who may write in a namespace can have created many of them,
// each of a megabyte.
const pageSize = 16

// mostPages is how many requests a list may take, however many objects a tenant has created. No Collector has as many.
const mostPages = 64

// TooManyError says that a list has more objects than are read.
type TooManyError struct{}

// Error says how many are too many.
func (*TooManyError) Error() string {
	return fmt.Sprintf("there are more than %d, and no more are read; delete those that nobody needs", mostPages*pageSize)
}

// Each reads a list of objects from the API server, page by page, and has a function look at each of them, which keeps little. It returns a
// *TooManyError when the function has looked at many objects, and there are more.
func Each(
	ctx context.Context, live client.Reader, list client.ObjectList, look func(runtime.Object) error, options ...client.ListOption,
) error {
	next := ""
	for range mostPages {
		page, isList := list.DeepCopyObject().(client.ObjectList)
		if !isList {
			return errors.New("the copy of a list is none")
		}
		pageOptions := append([]client.ListOption{client.Limit(pageSize), client.Continue(next)}, options...)
		if err := live.List(ctx, page, pageOptions...); err != nil {
			return err //nolint:wrapcheck // the caller says what it lists
		}
		if err := meta.EachListItem(page, look); err != nil {
			return err //nolint:wrapcheck // it is the caller's own
		}
		if next = page.GetContinue(); next == "" {
			return nil
		}
	}
	return &TooManyError{}
}
