package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// sysctls are the machine's settings that a node, or its network, changes.
var sysctls = []string{
	"net/ipv4/ip_forward",
	"net/bridge/bridge-nf-call-iptables",
	"net/netfilter/nf_conntrack_max",
	"vm/overcommit_memory",
	"vm/panic_on_oom",
	"kernel/panic",
	"kernel/panic_on_oops",
	"kernel/keys/root_maxkeys",
	"kernel/keys/root_maxbytes",
}

// saveSysctls keeps the settings as they are, for restoreSysctls, in the file
// that marks the folder as a cluster's.
func (c *Cluster) saveSysctls() error {
	saved := map[string]string{}
	for _, name := range sysctls {
		// A setting that this kernel does not have is not changed either.
		if value, err := os.ReadFile(filepath.Join("/proc/sys", name)); err == nil {
			saved[name] = strings.TrimSpace(string(value))
		}
	}
	content, err := json.MarshalIndent(saved, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(c.marker(), content, 0o600)
}

func (c *Cluster) restoreSysctls() error {
	content, err := os.ReadFile(c.marker())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var saved map[string]string
	if err := json.Unmarshal(content, &saved); err != nil {
		return err
	}
	for name, value := range saved {
		if err := os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// checkAddresses refuses to take addresses that the machine uses already.
func checkAddresses() error {
	used, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	for _, cidr := range []string{podRange, services} {
		_, wanted, err := net.ParseCIDR(cidr)
		if err != nil {
			return err
		}
		for _, address := range used {
			if ip, ok := address.(*net.IPNet); ok && (wanted.Contains(ip.IP) || ip.Contains(wanted.IP)) {
				return fmt.Errorf("the cluster needs the addresses %s, but this machine has %s", cidr, ip)
			}
		}
	}
	return nil
}

// createBridge makes the network of the pods, which is also where the node and
// its API server are.
func createBridge(ctx context.Context) error {
	for _, args := range [][]string{
		{"ip", "link", "add", bridge, "type", "bridge"},
		{"ip", "address", "add", nodeIP + "/24", "dev", bridge},
		{"ip", "link", "set", bridge, "up"},
		// Services are reached even where the machine has no default route.
		{"ip", "route", "add", services, "dev", bridge, "src", nodeIP},
		// Where something else drops what is forwarded, pods still reach each other.
		{"iptables", "--wait", "--insert", "FORWARD", "--in-interface", bridge, "--jump", "ACCEPT"},
		{"iptables", "--wait", "--insert", "FORWARD", "--out-interface", bridge, "--jump", "ACCEPT"},
	} {
		if _, err := command(ctx, args[0], args[1:]...); err != nil {
			return err
		}
	}
	// Traffic between pods crosses the bridge and must still see Services.
	const filter = "/proc/sys/net/bridge/bridge-nf-call-iptables"
	if _, err := os.Stat(filter); err != nil {
		if _, err := command(ctx, "modprobe", "br_netfilter"); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filter, []byte("1"), 0o644); err != nil {
		return err
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
}

func removeBridge(ctx context.Context) error {
	if _, err := net.InterfaceByName(bridge); err != nil {
		return nil //nolint:nilerr // it is gone
	}
	_, err := command(ctx, "ip", "link", "delete", bridge)
	return err
}

// filters are the programs that write packet filter rules.
var filters = []string{"iptables", "ip6tables"}

// removeRules removes the packet filter rules of the kubelet, of kube-proxy
// and of the bridge.
func removeRules(ctx context.Context) error {
	for _, filter := range filters {
		saved, err := savedRules(ctx, filter)
		if err != nil {
			return err
		}
		for _, args := range removals(saved) {
			if _, err := command(ctx, filter, append([]string{"--wait"}, args...)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// savedRules returns all rules as iptables-save prints them. A kernel without
// IPv6 has none.
func savedRules(ctx context.Context, filter string) (string, error) {
	if _, err := os.Stat("/proc/net/if_inet6"); err != nil && filter == "ip6tables" {
		return "", nil
	}
	return command(ctx, filter+"-save")
}

// ourRules returns the lines of the rules and of the chains that a node makes.
func ourRules(saved string) []string {
	var ours []string
	for line := range strings.Lines(saved) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, ":KUBE-") || strings.HasPrefix(line, "-A ") &&
			(strings.Contains(line, " -i "+bridge+" ") || strings.Contains(line, " -o "+bridge+" ")) {
			ours = append(ours, line)
		}
	}
	return ours
}

// removals turns what iptables-save printed into the calls that remove what a
// node made: first the rules that lead to its chains, then the chains.
func removals(saved string) [][]string {
	var rules, flushes, chains [][]string
	table := ""
	for line := range strings.Lines(saved) {
		line = strings.TrimSpace(line)
		switch fields := strings.Fields(line); {
		case strings.HasPrefix(line, "*"):
			table = line[1:]
		case strings.HasPrefix(line, ":KUBE-"):
			chain := fields[0][1:]
			flushes = append(flushes, []string{"--table", table, "--flush", chain})
			chains = append(chains, []string{"--table", table, "--delete-chain", chain})
		case strings.HasPrefix(line, "-A ") && !strings.HasPrefix(line, "-A KUBE-") &&
			(strings.Contains(line, " -j KUBE-") || len(ourRules(line)) > 0):
			rules = append(rules, append([]string{"--table", table, "--delete"}, words(line[len("-A "):])...))
		}
	}
	return append(append(rules, flushes...), chains...)
}

// words splits a rule at blanks that are not in double quotes.
func words(rule string) []string {
	var out []string
	for i, part := range strings.Split(rule, `"`) {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}

// command runs a program of the machine and returns what it printed.
func command(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, bytes.TrimSpace(complaint.Bytes()))
	}
	return string(out), nil
}
