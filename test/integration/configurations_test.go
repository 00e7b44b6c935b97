package integration

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf16"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const base64Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// configuration is what somebody configures a collector with.
type configuration struct {
	content []byte
	format  v1alpha1.Format
}

// configurations are some hundreds of configurations, the same in each run: each character of base64 and each padding at
// the start, in the middle and at the end; random bytes and random YAML; each size that is a limit somewhere.
func configurations() []configuration {
	random := rand.New(rand.NewPCG(12, 12))
	var all []configuration
	add := func(format v1alpha1.Format, contents ...[]byte) {
		for _, content := range contents {
			all = append(all, configuration{content, format})
		}
	}
	for _, char := range base64Alphabet {
		all = append(all, around(random, char)...)
	}
	for _, size := range []int{1, 2, 3, 4, 57, 58, 4095, 65_537, 262_142, 262_143, 262_144} {
		add(v1alpha1.FormatRaw, randomBytes(random, size))
	}
	for range 60 {
		add(v1alpha1.FormatRaw, randomBytes(random, 1+random.IntN(600)))
		add(v1alpha1.FormatYAML, randomYAML(random, 1+random.IntN(40)))
	}
	add(v1alpha1.FormatYAML, []byte("a: bc?\n"), []byte("\ufeffa: b\n"), []byte("a: b\r\nc: d\r\n"), randomYAML(random, 4000),
		append([]byte("a: "), bytes.Repeat([]byte("?"), 262_141)...))
	add(v1alpha1.FormatRaw, utf16LE("[INPUT]\n  Name ümläut\n"), bytes.Repeat([]byte{0xff}, 262_144), bytes.Repeat([]byte{0xfb, 0xef, 0xbe}, 9))
	return all
}

// around returns three configurations whose base64 has char first, in the middle and last, each with another padding.
func around(random *rand.Rand, char rune) []configuration {
	var all []configuration
	for padding, text := range []string{
		string(char) + "AAA", "AAAA" + string(char) + "AAAAAA=", "AAAA" + string(char) + "Q==",
	} {
		decoded, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			panic(err)
		}
		prefix := randomBytes(random, 3*random.IntN(3)*padding)
		all = append(all, configuration{append(prefix, decoded...), v1alpha1.FormatRaw})
	}
	return all
}

func randomBytes(random *rand.Rand, size int) []byte {
	content := make([]byte, size)
	for i := range content {
		content[i] = byte(random.IntN(256))
	}
	return content
}

// randomYAML returns a mapping whose values are of printable characters of ASCII and beyond, in each style of quotes.
func randomYAML(random *rand.Rand, lines int) []byte {
	var text strings.Builder
	for line := range lines {
		value := printable(random, 1+random.IntN(40))
		switch random.IntN(3) {
		case 0:
			quoted, err := json.Marshal(value)
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(&text, "key%d: %s # %s\n", line, quoted, value)
		case 1:
			fmt.Fprintf(&text, "key%d: '%s'\n", line, strings.ReplaceAll(value, "'", "''"))
		default:
			fmt.Fprintf(&text, "key%d: |2\n  .%s\n", line, value)
		}
	}
	return []byte(text.String())
}

func printable(random *rand.Rand, length int) string {
	var text strings.Builder
	for text.Len() < length {
		char := rune(' ' + random.IntN('~'-' '+1))
		if random.IntN(8) == 0 {
			char = rune(random.IntN(0x2fff))
		}
		if unicode.IsPrint(char) {
			text.WriteRune(char)
		}
	}
	return text.String()
}

func utf16LE(text string) []byte {
	content := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(text)) {
		content = append(content, byte(unit), byte(unit>>8))
	}
	return content
}

func TestEveryConfigurationArrivesByteForByte(t *testing.T) {
	t.Parallel()
	namespace, folder := newNamespace(t), t.TempDir()
	want := map[string][]byte{}
	for i, configuration := range configurations() {
		collector := newCollector(namespace, fmt.Sprintf("c%04d", i))
		collector.TypeMeta = metav1.TypeMeta{APIVersion: "kube8.dev/v1alpha1", Kind: "Collector"}
		collector.Spec.Collector.Configuration = configuration.content
		collector.Spec.Collector.Format = configuration.format
		collector.Spec.Service = &v1alpha1.Service{Enabled: new(false)}
		collector.Spec.ServiceAccount = &v1alpha1.ServiceAccount{Create: new(false)}
		manifest, err := yaml.Marshal(collector)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, collector.Name+".yaml"), manifest, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := plane.client.Create(t.Context(), collector); err != nil {
			t.Fatalf("%d bytes, %s: %.300v", len(configuration.content), configuration.format, err)
		}
		want[collector.Name+filesOf(string(configuration.content))] = configuration.content
	}
	t.Logf("%d configurations", len(want))
	t.Run("from the operator", func(t *testing.T) {
		NewWithT(t).Eventually(func(g Gomega) {
			var secrets corev1.SecretList
			g.Expect(plane.client.List(t.Context(), &secrets, client.InNamespace(namespace), client.HasLabels{collectorLabel})).To(Succeed())
			expectConfigurations(g, secrets.Items, want)
		}).WithTimeout(10 * time.Minute).WithPolling(time.Second).Should(Succeed())
	})
	t.Run("from render", func(t *testing.T) {
		cmd := exec.Command(shared.binary, "render", "--filename="+folder)
		rendered, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		expectConfigurations(NewWithT(t), secretsIn(t, rendered), want)
	})
}

// expectConfigurations expects each of the wanted configurations in the Secret of its name, and no others.
func expectConfigurations(g Gomega, secrets []corev1.Secret, want map[string][]byte) {
	arrived, differ := 0, 0
	for _, secret := range secrets {
		if content, wanted := want[secret.Name]; wanted {
			arrived++
			if !bytes.Equal(secret.Data["config.yaml"], content) || len(secret.Data) != 1 {
				differ++
			}
		}
	}
	g.Expect([]int{arrived, differ}).To(Equal([]int{len(want), 0}), "Secrets that arrived, and that differ")
}

// secretsIn returns the Secrets among rendered manifests.
func secretsIn(t *testing.T, manifests []byte) []corev1.Secret {
	t.Helper()
	var secrets []corev1.Secret
	for manifest := range strings.SplitSeq(string(manifests), "\n---\n") {
		var secret corev1.Secret
		if err := yaml.Unmarshal([]byte(manifest), &secret); err != nil {
			t.Fatal(err)
		}
		if secret.Kind == "Secret" {
			secrets = append(secrets, secret)
		}
	}
	return secrets
}
