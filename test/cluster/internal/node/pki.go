package node

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kube8/kube8-operator/test/cluster/internal/controlplane"
)

// authority issues the certificates of one cluster.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// identity is what a certificate says its holder is.
type identity struct {
	file  string // name of the certificate's files
	user  string
	group string
	hosts []string
}

func newAuthority(dir string) (*authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	a := &authority{dir: dir}
	a.cert = certificate(pkix.Name{CommonName: "kube8-operator test cluster"})
	a.cert.IsCA, a.cert.BasicConstraintsValid = true, true
	a.cert.KeyUsage = x509.KeyUsageCertSign
	var err error
	if a.pem, _, a.key, err = a.write("ca", a.cert); err != nil {
		return nil, err
	}
	a.cert, err = x509.ParseCertificate(decode(a.pem))
	return a, err
}

// issue writes a certificate and its key that serve clients and servers alike.
func (a *authority) issue(id identity) (cert, key []byte, err error) {
	wanted := certificate(pkix.Name{CommonName: id.user, Organization: []string{id.group}})
	wanted.KeyUsage = x509.KeyUsageDigitalSignature
	wanted.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	for _, host := range id.hosts {
		if ip := net.ParseIP(host); ip != nil {
			wanted.IPAddresses = append(wanted.IPAddresses, ip)
		} else {
			wanted.DNSNames = append(wanted.DNSNames, host)
		}
	}
	cert, key, _, err = a.write(id.file, wanted)
	return cert, key, err
}

// issueKubeconfig writes a kubeconfig that acts as the identity.
func (a *authority) issueKubeconfig(path string, id identity) error {
	cert, key, err := a.issue(id)
	if err != nil {
		return err
	}
	return controlplane.WriteKubeconfig(path, &rest.Config{
		Host: apiServer, TLSClientConfig: rest.TLSClientConfig{CAData: a.pem, CertData: cert, KeyData: key},
	})
}

// write signs the certificate, with its own key while there is no other, and
// writes both.
func (a *authority) write(file string, wanted *x509.Certificate) (cert, key []byte, private *ecdsa.PrivateKey, err error) {
	if private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, nil, nil, err
	}
	signer := a.key
	if signer == nil {
		signer = private
	}
	signed, err := x509.CreateCertificate(rand.Reader, wanted, a.cert, private.Public(), signer)
	if err != nil {
		return nil, nil, nil, err
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		return nil, nil, nil, err
	}
	cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})
	key = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
	if err := os.WriteFile(a.dir+"/"+file+".crt", cert, 0o600); err != nil {
		return nil, nil, nil, err
	}
	return cert, key, private, os.WriteFile(a.dir+"/"+file+".key", key, 0o600)
}

func certificate(subject pkix.Name) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62)) // the system's randomness does not fail
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial, Subject: subject,
		NotBefore: now.Add(-time.Minute), NotAfter: now.AddDate(1, 0, 0),
	}
}

func decode(encoded []byte) []byte {
	block, _ := pem.Decode(encoded)
	return block.Bytes
}
