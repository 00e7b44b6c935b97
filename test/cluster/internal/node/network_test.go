package node

import (
	"strings"
	"testing"
)

func TestRemovals(t *testing.T) {
	for name, test := range map[string]struct{ saved, want string }{
		"nothing of ours, nothing to do": {
			saved: "*filter\n:INPUT ACCEPT [0:0]\n-A FORWARD -i docker0 -j ACCEPT\nCOMMIT\n",
		},
		"rules go before the chains that they lead to": {
			saved: `*nat
:PREROUTING ACCEPT [0:0]
:KUBE-SERVICES - [0:0]
:KUBE-MARK-MASQ - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A KUBE-SERVICES -d 10.209.0.1/32 -j KUBE-MARK-MASQ
COMMIT
`,
			want: `--table nat --delete PREROUTING -m comment --comment <kubernetes service portals> -j KUBE-SERVICES
--table nat --flush KUBE-SERVICES
--table nat --flush KUBE-MARK-MASQ
--table nat --delete-chain KUBE-SERVICES
--table nat --delete-chain KUBE-MARK-MASQ`,
		},
		"the bridge's rules go, and other bridges' stay": {
			saved: "*filter\n-A FORWARD -i kube8 -j ACCEPT\n-A FORWARD -o kube8 -j ACCEPT\n-A FORWARD -i kube80 -j ACCEPT\nCOMMIT\n",
			want:  "--table filter --delete FORWARD -i kube8 -j ACCEPT\n--table filter --delete FORWARD -o kube8 -j ACCEPT",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var calls []string
			for _, args := range removals(test.saved) {
				for i, arg := range args {
					if strings.Contains(arg, " ") {
						args[i] = "<" + arg + ">"
					}
				}
				calls = append(calls, strings.Join(args, " "))
			}
			if got := strings.Join(calls, "\n"); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}
