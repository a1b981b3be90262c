package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/millrace-dev/millrace/internal/outbound/dataurl"
)

// multipartBody encodes the members of a JSON object as the fields of a form, in order, for providers that take only
// forms. A string with a data: URL becomes a file part, any other string a text, any other value its JSON; null is
// left out. Of a repeated member only the last is sent, because the price is computed from the last.
func multipartBody(body io.ReadSeeker, size int64) (payload, error) {
	last, err := lastMembers(body)
	if err != nil {
		return payload{}, err
	}
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return payload{}, fmt.Errorf("read the body: %w", err)
	}
	var out bytes.Buffer
	out.Grow(int(size))
	form := multipart.NewWriter(&out)
	d, err := openObject(body)
	if err != nil {
		return payload{}, err
	}
	for at := 0; d.PeekKind() == '"'; at++ {
		name, err := d.ReadToken()
		if err != nil {
			return payload{}, fmt.Errorf("read the body: %w", err)
		}
		field := name.String()
		if last[field] != at {
			if err := d.SkipValue(); err != nil {
				return payload{}, fmt.Errorf("read the body: %w", err)
			}
			continue
		}
		value, err := d.ReadValue()
		if err != nil {
			return payload{}, fmt.Errorf("read the body: %w", err)
		}
		if err := writeField(form, field, value); err != nil {
			return payload{}, err
		}
	}
	if err := form.Close(); err != nil {
		return payload{}, fmt.Errorf("encode the form: %w", err)
	}
	return payload{reader: bytes.NewReader(out.Bytes()), size: int64(out.Len()), contentType: form.FormDataContentType()}, nil
}

func openObject(body io.Reader) (*jsontext.Decoder, error) {
	d := jsontext.NewDecoder(body, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if open, err := d.ReadToken(); err != nil || open.Kind() != '{' {
		return nil, errors.New("the body is not a JSON object")
	}
	return d, nil
}

// lastMembers maps each member name of an object to the index of its last occurrence.
func lastMembers(body io.Reader) (map[string]int, error) {
	d, err := openObject(body)
	if err != nil {
		return nil, err
	}
	last := map[string]int{}
	for at := 0; d.PeekKind() == '"'; at++ {
		name, err := d.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("read the body: %w", err)
		}
		last[name.String()] = at
		if err := d.SkipValue(); err != nil {
			return nil, fmt.Errorf("read the body: %w", err)
		}
	}
	return last, nil
}

func writeField(form *multipart.Writer, field string, value jsontext.Value) error {
	if value.Kind() == 'n' {
		return nil
	}
	if value.Kind() != '"' {
		return wrapForm(form.WriteField(field, string(value)))
	}
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	media, data, ok := fileOf(text)
	if !ok {
		return wrapForm(form.WriteField(field, text))
	}
	head := textproto.MIMEHeader{}
	head.Set("Content-Disposition", multipart.FileContentDisposition(field, field))
	head.Set("Content-Type", media)
	part, err := form.CreatePart(head)
	if err != nil {
		return wrapForm(err)
	}
	_, err = part.Write(data)
	return wrapForm(err)
}

func wrapForm(err error) error {
	if err != nil {
		return fmt.Errorf("encode the form: %w", err)
	}
	return nil
}

// fileOf returns the content of a data: URL in base64, with its media type.
func fileOf(text string) (media string, content []byte, ok bool) {
	if !dataurl.Is(text) {
		return "", nil, false
	}
	file, err := dataurl.Parse(text)
	if err != nil || !file.Base64 {
		return "", nil, false
	}
	if file.MediaType == "" || strings.ContainsAny(file.MediaType, "\r\n") {
		file.MediaType = "application/octet-stream"
	}
	return file.MediaType, file.Content, true
}
