package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/tus/tusd/v2/pkg/filestore"
	"github.com/tus/tusd/v2/pkg/handler"
	"github.com/tus/tusd/v2/pkg/memorylocker"
	exp "golang.org/x/exp/slog"

	"github.com/millrace-dev/millrace/bench/harness"
	"github.com/millrace-dev/millrace/internal/child"
)

// sizes are the sizes of the uploaded files.
var sizes = []struct {
	name  string
	bytes int
}{{"64 KiB", 64 << 10}, {"16 MB", 16 << 20}}

// uploads compares resumable uploads with tusd's, and uploads in one request with those to an S3 server.
func uploads(ctx context.Context, o options, s *harness.Service, _ *provider) error {
	dir := filepath.Join(s.Dir, "tusd")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tusd, err := harness.Again(ctx, "-tusd", dir)
	if err != nil {
		return err
	}
	defer tusd.Stop()
	objects, stop, err := startS3(ctx, filepath.Join(s.Dir, "s3"))
	if err != nil {
		return err
	}
	defer stop()
	client := keepAlive(o.clients)
	for _, size := range sizes {
		file := files(size.bytes)
		tus := func(address string) side {
			return func(ctx context.Context) error { return createUpload(ctx, client, address, file()) }
		}
		if err := o.compare(ctx, "upload by tus, "+size.name, "tusd", tus(tusd.Base+"/files/"), tus(s.Base+"/uploads")); err != nil {
			return err
		}
		if objects == nil {
			fmt.Println("MILLRACE_TEST_S3_SERVER names no program: uploads are not compared with an S3 server")
			continue
		}
		put := func(ctx context.Context) error {
			data := file()
			_, err := objects.PutObject(ctx, bucket, names.name(), bytes.NewReader(data), int64(len(data)), minio.PutObjectOptions{})
			return err
		}
		post := func(ctx context.Context) error { return postFile(ctx, client, s.Base+"/api/v2/assets", file()) }
		if err := o.compare(ctx, "upload in one request, "+size.name, "an S3 server", put, post); err != nil {
			return err
		}
	}
	return nil
}

// counter makes names and contents that no one has used.
type counter struct{ n atomic.Uint64 }

var names counter

func (c *counter) name() string { return strconv.FormatUint(c.n.Add(1), 10) }

// files returns a function that returns another file of this size each time.
func files(size int) func() []byte {
	pattern := make([]byte, size)
	rand.NewChaCha8([32]byte{1}).Read(pattern) // never fails
	return func() []byte {
		data := bytes.Clone(pattern)
		binary.BigEndian.PutUint64(data, names.n.Add(1))
		return data
	}
}

// createUpload creates an upload with a request that contains all bytes.
func createUpload(ctx context.Context, c *http.Client, address string, data []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(data))
	if err != nil {
		return err
	}
	for name, value := range map[string]string{
		"Tus-Resumable": "1.0.0", "Upload-Length": strconv.Itoa(len(data)), "Content-Type": "application/offset+octet-stream",
		"Upload-Metadata": "filename " + base64.StdEncoding.EncodeToString([]byte(names.name()+".bin")),
	} {
		req.Header.Set(name, value)
	}
	return harness.Do(c, req, nil)
}

// postFile uploads a file as a form.
func postFile(ctx context.Context, c *http.Client, address string, data []byte) error {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	name := names.name() + ".bin"
	form.WriteField("content_type", "application/octet-stream") // a buffer takes everything
	form.WriteField("file_path", "bench/"+name)
	part, err := form.CreateFormFile("file", name)
	if err != nil {
		return err
	}
	part.Write(data)
	if err := form.Close(); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, &body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	return harness.Do(c, req, nil)
}

// beTusd serves tusd's handler over a directory, as tusd does.
func beTusd(ctx context.Context, dir string) error {
	composer := handler.NewStoreComposer()
	filestore.New(dir).UseIn(composer)
	memorylocker.New().UseIn(composer)
	h, err := handler.NewHandler(handler.Config{
		BasePath: "/files/", StoreComposer: composer, DisableDownload: true, Logger: exp.New(exp.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/files/", http.StripPrefix("/files/", h))
	return harness.Listen(ctx, mux)
}

const bucket, key = "bench", "bench-key"

// startS3 starts the S3 server over a directory and makes its bucket. Without the program, the client is nil.
func startS3(ctx context.Context, dir string) (client *minio.Client, stop func(), err error) {
	program := os.Getenv("MILLRACE_TEST_S3_SERVER")
	if program == "" {
		return nil, func() {}, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, err
	}
	address, err := harness.FreeAddress()
	if err != nil {
		return nil, nil, err
	}
	server, err := child.Start(child.Command{
		Path: program, Args: []string{"--access", key, "--secret", key, "--port", address, "--quiet", "posix", dir}, Orphan: syscall.SIGKILL,
	})
	if err != nil {
		return nil, nil, err
	}
	stop = func() { server.Stop(context.WithoutCancel(ctx)) } // the measurement is over
	if client, err = minio.New(address, &minio.Options{Creds: credentials.NewStaticV4(key, key, "")}); err == nil {
		if err = listens(ctx, address); err == nil {
			err = client.MakeBucket(ctx, bucket, minio.MakeBucketOptions{})
		}
	}
	if err != nil {
		stop()
	}
	return client, stop, err
}

// listens waits until something listens at the address.
func listens(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the S3 server does not listen at %s: %w", address, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
