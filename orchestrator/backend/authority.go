package backend

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// Authority issues the credentials of the parts of one run. It lives in memory only.
type Authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	run         string
}

// Times around the moment at which credentials are issued for which they are valid: the
// clocks of machines differ, by hours where a time zone is wrong, and pods may wait for a machine.
const (
	validBefore = 24 * time.Hour
	validFor    = 24 * time.Hour
)

// NewAuthority returns an authority of its own for a run.
func NewAuthority(run string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("authority of run %s: %w", run, err)
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "csiglab run " + run},
		NotBefore: time.Now().Add(-validBefore), NotAfter: time.Now().Add(validFor),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	certificate, err := sign(template, template, key, key)
	if err != nil {
		return nil, fmt.Errorf("authority of run %s: %w", run, err)
	}
	return &Authority{key: key, certificate: certificate, run: run}, nil
}

// Issue returns the credentials of a part.
func (a *Authority) Issue(part int) (Credentials, error) {
	now := time.Now()
	return a.issue(shardName(part, a.run), now.Add(-validBefore), now.Add(validFor))
}

func (a *Authority) issue(name string, from, to time.Time) (c Credentials, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return c, fmt.Errorf("certificate %s: %w", name, err)
	}
	certificate, err := sign(&x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: from, NotAfter: to, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.certificate, key, a.key)
	if err != nil {
		return c, fmt.Errorf("certificate %s: %w", name, err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return c, fmt.Errorf("certificate %s: %w", name, err)
	}
	return Credentials{
		Authority:   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw}),
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}, nil
}

func serial() *big.Int {
	var b [16]byte
	rand.Read(b[:])
	return new(big.Int).SetBytes(b[:])
}

func sign(template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// shardName is the DNS name in the certificate of a part. It names the run too, so that a
// certificate of another run is of no use.
func shardName(part int, run string) string { return fmt.Sprintf("shard-%d.%s", part, run) }

// tls returns the certificate and the authority of a part.
func (c *Credentials) tls() (tls.Certificate, *x509.CertPool, error) {
	certificate, err := tls.X509KeyPair(c.Certificate, c.Key)
	if err != nil {
		return certificate, nil, fmt.Errorf("credentials of the part: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(c.Authority) {
		return certificate, nil, errors.New("credentials of the part: no certificate of an authority")
	}
	return certificate, pool, nil
}

// calling returns the TLS configuration for a connection to another part of a run, whose
// certificate must have its name.
func (c *Credentials) calling(peer int, run string) (*tls.Config, error) {
	certificate, pool, err := c.tls()
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate}, RootCAs: pool, ServerName: shardName(peer, run),
	}, nil
}

// called returns the TLS configuration for connections from other parts of a run. It does
// not check which parts their certificates name.
func (c *Credentials) called() (*tls.Config, error) {
	certificate, pool, err := c.tls()
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate}, ClientCAs: pool,
		ClientAuth: tls.RequireAndVerifyClientCert, SessionTicketsDisabled: true,
	}, nil
}
