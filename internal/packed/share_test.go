package packed

import (
	"strconv"
	"sync"
	"testing"
)

// TestObjectsOfOneControllerArePackedAtTheSameTime has the informers of two kinds share, which Go's maps tell of if they
// must not.
func TestObjectsOfOneControllerArePackedAtTheSameTime(t *testing.T) {
	packer, whole := newPacker(), parse(t, deployment)
	var informers sync.WaitGroup
	for range 2 {
		informers.Go(func() {
			for version := range 5000 {
				obj := whole.DeepCopy()
				obj.SetLabels(map[string]string{"version": strconv.Itoa(version)})
				if _, err := packer.transform(obj); err != nil {
					t.Error(err)
				}
			}
		})
	}
	informers.Wait()
}
