package published

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// The two forms in which an index lists the files of a project. Mirrors may only have the older form.
const (
	jsonList = "application/vnd.pypi.simple.v1+json"
	accepted = jsonList + ", text/html;q=0.5"
)

// find returns the address of the release's wheel from the index.
func (f Fetcher) find(ctx context.Context) (string, error) {
	page, err := url.JoinPath(cmp.Or(f.Index, Index), project, "/")
	if err != nil {
		return "", fmt.Errorf("the address of the package index: %w", err)
	}
	body, header, err := f.get(ctx, page, accepted)
	if err != nil {
		return "", fmt.Errorf("read the package index: %w", err)
	}
	defer body.Close()
	list, err := io.ReadAll(io.LimitReader(body, maxPage))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", page, err)
	}
	links, err := filesOf(list, header.Get("Content-Type"))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", page, err)
	}
	link, there := links[f.Release.Wheel()]
	if !there {
		return "", fmt.Errorf("%s does not list %s", page, f.Release.Wheel())
	}
	return resolve(page, link)
}

// resolve returns the address of a link on a page. The fragment of a link in older lists is a hash, which is not
// needed.
func resolve(page, link string) (string, error) {
	base, err := url.Parse(page)
	if err != nil {
		return "", err
	}
	at, err := base.Parse(link)
	if err != nil {
		return "", fmt.Errorf("a link of %s: %w", page, err)
	}
	at.Fragment = ""
	return at.String(), nil
}

// filesOf returns the links of a list by file name.
func filesOf(list []byte, contentType string) (map[string]string, error) {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, fmt.Errorf("its media type: %w", err)
	}
	if kind != jsonList {
		return anchors(list)
	}
	var answer struct {
		Files []struct {
			Name string `json:"filename"`
			URL  string `json:"url"`
		} `json:"files"`
	}
	if err := json.Unmarshal(list, &answer); err != nil {
		return nil, err
	}
	links := map[string]string{}
	for _, file := range answer.Files {
		links[file.Name] = file.URL
	}
	return links, nil
}

// anchors parses a list in HTML, in which the text of a link is the file name.
func anchors(list []byte) (map[string]string, error) {
	page, err := html.Parse(bytes.NewReader(list))
	if err != nil {
		return nil, err
	}
	links := map[string]string{}
	for n := range page.Descendants() {
		if n.Type != html.ElementNode || n.Data != "a" || n.FirstChild == nil {
			continue
		}
		for _, a := range n.Attr {
			if a.Key == "href" {
				links[strings.TrimSpace(n.FirstChild.Data)] = a.Val
			}
		}
	}
	return links, nil
}
