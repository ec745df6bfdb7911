// Verifies a Sigstore bundle that a named key signed and no log holds, as sigstore-go takes it: a run statement's export. The
// example of sigstore-go itself always wants a time from somewhere, so it cannot be asked.
//
//	go build -o <a folder on PATH>/sigstore-go-statement .
//	sigstore-go-statement <bundle> <artifact> <key in PEM> <trusted root>
package main

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"
)

// A key without dates: nothing dates the signature either.
type undatedKey struct{ signature.Verifier }

func (undatedKey) ValidAtTime(time.Time) bool { return true }

func readKey(path string) (*root.TrustedPublicKeyMaterial, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("the key is no PEM")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	verifier, err := signature.LoadVerifier(key, crypto.SHA256)
	if err != nil {
		return nil, err
	}
	return root.NewTrustedPublicKeyMaterial(func(string) (root.TimeConstrainedVerifier, error) {
		return undatedKey{verifier}, nil
	}), nil
}

func run(bundlePath, artifactPath, keyPath, rootPath string) error {
	signed, err := bundle.LoadJSONFromPath(bundlePath)
	if err != nil {
		return err
	}
	trusted, err := root.NewTrustedRootFromPath(rootPath)
	if err != nil {
		return err
	}
	key, err := readKey(keyPath)
	if err != nil {
		return err
	}
	artifact, err := os.Open(artifactPath)
	if err != nil {
		return err
	}
	defer artifact.Close()
	verifier, err := verify.NewVerifier(root.TrustedMaterialCollection{trusted, key}, verify.WithNoObserverTimestamps())
	if err != nil {
		return err
	}
	_, err = verifier.Verify(signed, verify.NewPolicy(verify.WithArtifact(artifact), verify.WithKey()))
	return err
}

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: sigstore-go-statement <bundle> <artifact> <key in PEM> <trusted root>")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
