package sources

import (
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/configuration"
)

// asDeployed returns a base that is refused in the version that the Collector has deployed, by its status. Of the base as it is now, only
// the position counts, if that is one. A base that its namespace names has no version if the Collector is deployed without it. Otherwise
// the refusal is the error.
func (b Base) asDeployed(collector *unstructured.Unstructured, named named, refusal error) (Base, error) {
	refused, is := errors.AsType[*configuration.Error](refusal)
	if !is {
		return b, refusal
	}
	for _, entry := range deployedBases(collector) {
		if version, isIt := strings.CutPrefix(entry, named.name+"@"); isIt {
			kept := Base{Name: named.name, Version: version, Refused: refused.Error()}
			if isPosition(b.Position) {
				kept.Position = b.Position
			}
			return kept, nil
		}
	}
	if _, isDeployed, _ := unstructured.NestedFieldNoCopy(collector.Object, "status", "deployedRelease"); isDeployed && named.outside {
		return Base{Name: named.name, Refused: refused.Error()}, nil
	}
	return b, refusal
}

// deployedBases returns what the status tells of the bases that a Collector has deployed.
func deployedBases(collector *unstructured.Unstructured) []string {
	versions, _, _ := unstructured.NestedStringSlice(collector.Object, "status", "bases")
	return versions
}

// refuseTogether refuses bases that a Collector cannot have together, although each is fine. Both of two with one file are refused, because
// the status does not tell which file each had. Of bases that are too large together, those are refused that are not deployed as they are.
func refuseTogether(collector *unstructured.Unstructured, all []named, found []Base, refusals []error) {
	refuse := func(i int, format string, args ...any) {
		refusals[i] = &configuration.Error{Field: all[i].by, Reason: fmt.Sprintf(format, args...)}
	}
	total, files, deployed := 0, map[string]int{}, deployedBases(collector)
	for i, base := range found {
		if refusals[i] != nil {
			continue
		}
		if other, isTaken := files[base.File]; isTaken {
			for _, one := range []int{other, i} {
				refuse(one, "bases %q and %q both have the file %s; rename one", found[other].Name, base.Name, base.File)
			}
		}
		files[base.File] = i
		total += len(base.content)
	}
	for i, base := range found {
		if total > configuration.MaxBytes && refusals[i] == nil && !slices.Contains(deployed, base.Name+"@"+base.Version) {
			refuse(i, "the bases have more than %d bytes together; shorten them, or remove one", configuration.MaxBytes)
		}
	}
}

// isPosition tells whether a base can have a position.
func isPosition(position v1alpha1.BasePosition) bool {
	return position == v1alpha1.BaseFirst || position == v1alpha1.BaseLast
}

// Refusals says which bases are refused, and why, and which versions stay. It is empty if none is refused.
func (b Bases) Refusals() string {
	var messages []string
	for _, base := range b {
		switch {
		case base.Refused == "":
		case base.Version == "":
			messages = append(messages, fmt.Sprintf("%s; the Collector stays without base %q", base.Refused, base.Name))
		default:
			messages = append(messages, fmt.Sprintf("%s; version %s of base %q stays deployed", base.Refused, base.Version, base.Name))
		}
	}
	return strings.Join(messages, ". ")
}

// Restore returns the bases with those that are refused as the values of the deployed revision have them. A tenant may have written these
// values, so a content counts only if it has the version that the status tells. A base without a version is left out. The error is a
// *configuration.Error with the refusal of a base that cannot be restored.
func (b Bases) Restore(values map[string]any) (Bases, error) {
	restored := slices.DeleteFunc(slices.Clone(b), func(base Base) bool { return base.Version == "" })
	for i := range restored {
		base := &restored[i]
		if base.Refused != "" && !base.restore(values) {
			return nil, &configuration.Error{Field: basesField, Reason: fmt.Sprintf(
				"%s; version %s, which is deployed, is not in the record of the deployed revision", base.Refused, base.Version)}
		}
	}
	return restored.inOrder(), nil
}

// restore completes a base from a chart's values, and tells whether they have it.
func (b *Base) restore(values map[string]any) bool {
	recorded, _ := values["bases"].([]any)
	for _, item := range recorded {
		fields, _ := item.(map[string]any)
		text, _ := fields["content"].(string)
		content, err := base64.StdEncoding.DecodeString(text)
		if fields["name"] != b.Name || err != nil || VersionOf(content) != b.Version {
			continue
		}
		file, _ := fields["file"].(string)
		position, _ := fields["position"].(string)
		extension, isNamed := strings.CutPrefix(file, "base-"+b.Name)
		b.content, b.File = content, file
		if b.Position == "" {
			b.Position = v1alpha1.BasePosition(position)
		}
		return isNamed && extension == path.Ext(extension) && len(b.File) <= longestFile && isPosition(b.Position)
	}
	return false
}
