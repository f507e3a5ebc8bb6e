package certificates

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"time"
)

// The keys of the Secret. Those of the current authority are the usual ones.
const (
	keyCA, keyCAKey         = "ca.crt", "ca.key"
	keyTLS, keyTLSKey       = "tls.crt", "tls.key"
	keyNextCA, keyNextCAKey = "next-ca.crt", "next-ca.key"
	keyNextTLS, keyNextTLSK = "next-tls.crt", "next-tls.key"
	keyRetired, keyRotation = "retired-ca.crt", "rotation.json"
)

// rotation is the state that the certificates themselves do not contain.
type rotation struct {
	// Signed maps the SHA-256 of an authority to the time when the last certificate
	// that it signed expires.
	Signed map[string]time.Time `json:"signed"`
	// Published is the version of the webhook configuration that knows the next
	// authority.
	Published publication `json:"published,omitzero"`
}

// decode reads the contents of a Secret. Broken parts are treated as missing.
func decode(data map[string][]byte) state {
	var about rotation
	if json.Unmarshal(data[keyRotation], &about) != nil {
		about = rotation{}
	}
	s := state{
		current:   decodeAuthority(data, keyCA, keyCAKey, keyTLS, keyTLSKey, about),
		next:      decodeAuthority(data, keyNextCA, keyNextCAKey, keyNextTLS, keyNextTLSK, about),
		published: about.Published,
	}
	for _, cert := range parseCertificates(data[keyRetired]) {
		if cert.IsCA && !s.knows(cert) {
			s.retired = append(s.retired, &authority{cert: cert, until: about.until(cert)})
		}
	}
	if s.current != nil && s.next != nil && s.current.cert.Equal(s.next.cert) {
		s.next = nil
	}
	return s
}

// until is on the safe side if nothing is known: no certificate outlives its
// authority.
func (r rotation) until(cert *x509.Certificate) time.Time {
	if at, ok := r.Signed[id(cert)]; ok {
		return at
	}
	return cert.NotAfter
}

func decodeAuthority(data map[string][]byte, ca, caKey, crt, key string, about rotation) *authority {
	certs := parseCertificates(data[ca])
	if len(certs) != 1 || !certs[0].IsCA {
		return nil
	}
	a := &authority{cert: certs[0], until: about.until(certs[0])}
	if k := decodeKey(data[caKey]); k != nil && k.PublicKey.Equal(a.cert.PublicKey) {
		a.key = k
	}
	pair, err := tls.X509KeyPair(data[crt], data[key])
	if err == nil && pair.Leaf.CheckSignatureFrom(a.cert) == nil {
		a.serving = &pair
		a.until = later(a.until, pair.Leaf.NotAfter)
	}
	return a
}

func decodeKey(text []byte) *ecdsa.PrivateKey {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil
	}
	ec, _ := key.(*ecdsa.PrivateKey)
	return ec
}

// encode returns the data of the Secret with the state in it. Foreign keys stay as
// they are.
func (s state) encode(data map[string][]byte) (map[string][]byte, error) {
	out := map[string][]byte{}
	maps.Copy(out, data)
	about := rotation{Signed: map[string]time.Time{}, Published: s.published}
	var retired []byte
	for _, a := range s.retired {
		retired = append(retired, encodeCertificate(a.cert)...)
	}
	for _, a := range s.authorities() {
		about.Signed[id(a.cert)] = a.until.UTC()
	}
	text, err := json.MarshalIndent(about, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the rotation: %w", err)
	}
	out[keyRotation] = text
	set(out, keyRetired, retired)
	if err := s.current.encode(out, keyCA, keyCAKey, keyTLS, keyTLSKey); err != nil {
		return nil, err
	}
	return out, s.next.encode(out, keyNextCA, keyNextCAKey, keyNextTLS, keyNextTLSK)
}

func (a *authority) encode(data map[string][]byte, ca, caKey, crt, key string) error {
	for _, name := range []string{ca, caKey, crt, key} {
		delete(data, name)
	}
	if a == nil {
		return nil
	}
	data[ca] = encodeCertificate(a.cert)
	if a.key != nil {
		text, err := encodeKey(a.key)
		if err != nil {
			return err
		}
		data[caKey] = text
	}
	if a.serving == nil {
		return nil
	}
	text, err := encodeKey(a.serving.PrivateKey)
	data[crt], data[key] = encodeCertificate(a.serving.Leaf), text
	return err
}

func encodeKey(key any) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func set(data map[string][]byte, key string, value []byte) {
	if len(value) == 0 {
		delete(data, key)
		return
	}
	data[key] = value
}
