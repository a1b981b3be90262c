package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/bench/harness"
)

// picture is an input of the pipeline.
type picture struct {
	side  int
	png   []byte
	other float64 // minimum total of the other side, in milliseconds
}

// asJobs runs the same pipeline as complete jobs of a service: submitted over HTTP, until a GET shows the saved file.
func asJobs(ctx context.Context, pictures []picture, repeats int) (err error) {
	s, err := harness.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Serve(ctx); err != nil {
		return err
	}
	fmt.Printf("\nthe same as a job, from POST to the completed state\n")
	for _, p := range pictures {
		name := fmt.Sprintf("%d.png", p.side)
		if err := upload(ctx, s.Base, name, p.png); err != nil {
			return err
		}
		var millis []float64
		for range repeats + 1 {
			took, err := runJob(ctx, s.Base, name, p.side*3/4)
			if err != nil {
				return err
			}
			millis = append(millis, float64(took.Microseconds())/1000)
		}
		millis = millis[1:] // the first warms the service
		slices.Sort(millis)
		fmt.Printf("%d²   %8.1f %8.1f ms min/median   %.2fx the speed of pillow+numpy alone\n", p.side, millis[0], millis[len(millis)/2],
			p.other/millis[0])
	}
	fmt.Printf("peak MB of the whole service %d\n", s.ServiceMemory())
	return nil
}

func upload(ctx context.Context, base, name string, png []byte) error {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("image", name)
	if err != nil {
		return err
	}
	if _, err := part.Write(png); err != nil {
		return err
	}
	if err := form.Close(); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api/upload/image", &body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	return harness.Do(http.DefaultClient, req, nil)
}

func runJob(ctx context.Context, base, name string, side int) (time.Duration, error) {
	graph := fmt.Sprintf(`{"prompt":{
		"1":{"class_type":"LoadImage","inputs":{"image":%q}},
		"2":{"class_type":"ImageScale","inputs":{"image":["1",0],"upscale_method":"lanczos","width":%d,"height":%d,"crop":"disabled"}},
		"3":{"class_type":"ImageBlur","inputs":{"image":["2",0],"blur_radius":10,"sigma":1.0}},
		"4":{"class_type":"ImageInvert","inputs":{"image":["3",0]}},
		"5":{"class_type":"SaveImage","inputs":{"images":["4",0],"filename_prefix":"bench"}}}}`, name, side, side)
	var submitted struct {
		ID string `json:"prompt_id"`
	}
	began := time.Now()
	if err := harness.Call(ctx, http.DefaultClient, http.MethodPost, base+"/api/prompt", graph, &submitted); err != nil {
		return 0, err
	}
	for {
		var now struct{ Status string }
		if err := harness.Call(ctx, http.DefaultClient, http.MethodGet, base+"/api/job/"+submitted.ID+"/status", "", &now); err != nil {
			return 0, err
		}
		switch now.Status {
		case "completed":
			return time.Since(began), nil
		case "failed", "cancelled":
			return 0, fmt.Errorf("job %s is %s", submitted.ID, now.Status)
		}
		time.Sleep(2 * time.Millisecond)
	}
}
