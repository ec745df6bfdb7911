// tessera-posix serves a log of Tessera's POSIX storage on a free loopback port, for the bench: POST /integrated answers once the entry is
// in the tree, POST /published once a signed checkpoint with it is there. Both answer 200 with the entry's index.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/transparency-dev/tessera"
	"github.com/transparency-dev/tessera/storage/posix"
	"golang.org/x/mod/sumdb/note"
)

const (
	// The bench has 64 writers; a batch waits for no more of them, and no longer than a batch of the service takes at least.
	batchSize = 64
	batchAge  = 5 * time.Millisecond
	// The shortest that the storage takes.
	checkpointInterval = 100 * time.Millisecond
	pollInterval       = 5 * time.Millisecond
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	secret, _, err := note.GenerateKey(rand.Reader, "bench.example/log")
	check(err)
	signer, err := note.NewSigner(secret)
	check(err)
	driver, err := posix.New(ctx, posix.Config{Path: os.Args[1]})
	check(err)
	appender, _, reader, err := tessera.NewAppender(ctx, driver, tessera.NewAppendOptions().
		WithCheckpointSigner(signer).
		WithCheckpointInterval(checkpointInterval).
		WithBatching(batchSize, batchAge))
	check(err)
	awaiter := tessera.NewPublicationAwaiter(ctx, reader.ReadCheckpoint, pollInterval)

	answer := func(w http.ResponseWriter, index tessera.Index, err error) {
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintf(w, "%d", index.Index)
	}
	add := func(r *http.Request) (tessera.IndexFuture, error) {
		entry, err := io.ReadAll(r.Body)
		return appender.Add(r.Context(), tessera.NewEntry(entry)), err
	}
	http.HandleFunc("POST /integrated", func(w http.ResponseWriter, r *http.Request) {
		future, err := add(r)
		if err != nil {
			answer(w, tessera.Index{}, err)
			return
		}
		index, err := future()
		answer(w, index, err)
	})
	http.HandleFunc("POST /published", func(w http.ResponseWriter, r *http.Request) {
		future, err := add(r)
		if err != nil {
			answer(w, tessera.Index{}, err)
			return
		}
		index, _, err := awaiter.Await(r.Context(), future)
		answer(w, index, err)
	})

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Printf("http://%s\n", listener.Addr())
	go func() { check(http.Serve(listener, nil)) }()
	<-ctx.Done()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
