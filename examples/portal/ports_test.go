package main

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestAPortIsListedIfTheConfigurationOpensIt(t *testing.T) {
	const otel = `
receivers:
  otlp: {protocols: {http: {endpoint: "0.0.0.0:4318"}, grpc: {endpoint: %q}}}
  zipkin: {endpoint: "0.0.0.0:9411"}
exporters: {otlp: {endpoint: "0.0.0.0:4444"}}
service: {pipelines: {traces: {receivers: [otlp], exporters: [otlp]}}}`
	at := func(grpc string) string { return fmt.Sprintf(otel, grpc) }
	named := map[string]v1alpha1.Port{
		"mapped": {Port: 80, TargetPort: new(intstr.FromInt32(4318))}, "proxy": {Port: 443, TargetPort: new(intstr.FromString("tls"))},
	}
	for _, row := range []struct {
		name, config string
		port         int32
		of           string // the port's name
		target       string // its name in the pod
		isListed     bool
	}{
		{name: "an address of all interfaces", config: at("0.0.0.0:4317"), port: 4317, isListed: true},
		{name: "an address of all interfaces, by IPv6", config: at("[::]:4317"), port: 4317, isListed: true},
		{name: "an address of the pod", config: at("${env:POD_IP}:4317"), port: 4317, isListed: true},
		{name: "a port with a default", config: at("0.0.0.0:${env:PORT:-4317}"), port: 4317, isListed: true},
		{name: "a port alone", config: at(":4317"), port: 4317, isListed: true},
		{name: "an address of the pod alone", config: at("localhost:4317"), port: 4317},
		{name: "an address of the pod alone, by number", config: at("127.0.0.1:4317"), port: 4317},
		{name: "an address of the pod alone, by IPv6", config: at("[::1]:4317"), port: 4317},
		{name: "a longer number", config: at("0.0.0.0:43170"), port: 4317},
		{name: "a receiver that no pipeline has", config: at("0.0.0.0:4317"), port: 9411},
		{name: "an exporter", config: at("0.0.0.0:4317"), port: 4444},
		{name: "a port of the collector's own metrics", config: at("0.0.0.0:8888"), port: 8888, of: metricsPort},
		{name: "another number on the Service", config: at(""), port: 80, of: "mapped", target: "mapped", isListed: true},
		{name: "a port of another container", config: at(""), port: 443, of: "proxy", target: "proxy", isListed: true},
		{name: "a port that the operator has by default", config: at(""), port: 4318, of: "otlp-http", target: "otlp-http", isListed: true},
		{name: "another language", config: "[INPUT]\n  Name forward\n  Port 24224\n", port: 24224, isListed: true},
		{name: "another host in another language", config: "[OUTPUT]\n  Host loki:24224\n", port: 24224},
		{name: "a comment in another language", config: "[INPUT]\n  # Port 24224\n", port: 24224},
	} {
		t.Run(row.name, func(t *testing.T) {
			collector := &v1alpha1.Collector{}
			collector.Spec.Collector.ConfigurationText, collector.Spec.Ports = v1alpha1.FileText(row.config), named
			port := corev1.ServicePort{Name: row.of, Port: row.port, TargetPort: intstr.FromInt32(row.port)}
			if row.target != "" {
				port.TargetPort = intstr.FromString(row.target)
			}
			found := destinationsOf(collector, []corev1.Service{{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{port}}}})
			g := NewWithT(t)
			g.Expect(found.Addresses != nil).To(Equal(row.isListed))
			g.Expect(found.Closed != nil).To(Equal(!row.isListed && row.of != metricsPort))
			g.Expect(found.Doubt).To(BeEmpty())
		})
	}
}

func TestAPortOfWhichLittleIsKnownIsListedWithADoubt(t *testing.T) {
	for doubt, config := range map[string]v1alpha1.CollectorConfig{
		"in a Secret": {ConfigurationSecret: &v1alpha1.ConfigurationSecret{Name: "a", Key: "b"}},
		"bases":       {ConfigurationText: "a: b", Bases: []v1alpha1.Base{{Name: "a"}}},
		"of its own":  {},
	} {
		collector := &v1alpha1.Collector{Spec: v1alpha1.CollectorSpec{Collector: config}}
		found := destinationsOf(collector, []corev1.Service{{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 4317}}}}})
		g := NewWithT(t)
		g.Expect(found.Addresses).To(HaveLen(1))
		g.Expect(found.Doubt).To(ContainSubstring(doubt))
	}
}
