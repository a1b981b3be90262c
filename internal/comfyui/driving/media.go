package driving

import (
	"context"
	"encoding/binary"
	"io"
	"math"
	"path"
	"strings"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// moveSound moves a sound without loss: unchanged if the server has the node pack, otherwise as a WAV file of floats.
func (c *compiled) moveSound(ctx context.Context, s *media.Sound) (any, error) {
	if c.lossless(loadSound) {
		return c.moveTensors(ctx, loadSound, losslessSound(s))
	}
	if s.Samples() == 0 { // servers cannot read a file without samples
		return linkTo(c.add("EmptyAudio", map[string]any{"duration": 0, "sample_rate": s.Rate(), "channels": min(s.Channels(), 2)}), 0), nil
	}
	data, err := encodeWAV(s)
	if err != nil {
		return nil, err
	}
	return c.loadFile(ctx, ".wav", data, "LoadAudio", "audio")
}

// maxWAV bounds the samples of a WAV file, which stores sizes in 32 bits.
const maxWAV = math.MaxUint32 - 1024

// encodeWAV writes a WAV file of 32-bit floats.
func encodeWAV(s *media.Sound) ([]byte, error) {
	if s.Bytes() > maxWAV {
		return nil, fault.New(fault.Exhausted, fault.CodeValueTooLarge, "a sound of %d bytes is too long to be moved to a server", s.Bytes())
	}
	frame, size := 4*s.Channels(), int(s.Bytes())
	out := make([]byte, 0, 58+size)
	le := binary.LittleEndian
	out = append(out, "RIFF"...)
	out = le.AppendUint32(out, uint32(50+size))
	out = append(out, "WAVEfmt "...)
	out = le.AppendUint32(out, 18)
	out = le.AppendUint16(out, 3) // floats
	out = le.AppendUint16(out, uint16(s.Channels()))
	out = le.AppendUint32(out, uint32(s.Rate()))
	out = le.AppendUint32(out, uint32(s.Rate()*frame))
	out = le.AppendUint16(out, uint16(frame))
	out = le.AppendUint16(out, 32) // bits per sample
	out = le.AppendUint16(out, 0)  // no extension of the format
	out = append(out, "fact"...)
	out = le.AppendUint32(out, 4)
	out = le.AppendUint32(out, uint32(s.Samples()))
	out = append(out, "data"...)
	out = le.AppendUint32(out, uint32(size))
	for i := range s.Samples() {
		for channel := range s.Channels() {
			out = le.AppendUint32(out, math.Float32bits(s.Channel(channel)[i]))
		}
	}
	return out, nil
}

// readSound reads a sound that the server saved. Without ffmpeg, the sound is passed on as a file.
func (f *follower) readSound(ctx context.Context, from comfyui.File) (node.Value, error) {
	if f.d.opts.Sounds == nil {
		data, err := f.d.read(ctx, f.r, from)
		return node.Opaque{Type: node.Audio, Data: data}, err
	}
	content, err := f.d.fetch(ctx, f.r.Server, from, f.d.opts.MaxOutput)
	if err != nil {
		return nil, err
	}
	defer content.Close() // read only
	return f.d.opts.Sounds.Sound(ctx, content, ffmpeg.Part{}, f.d.maxValueBytes())
}

// moveVideo moves a video: the file of which it is a part, or its frames and its sound.
func (c *compiled) moveVideo(ctx context.Context, v *media.Video) (any, error) {
	if v.Frames != nil {
		return c.moveClip(ctx, v)
	}
	name, err := c.moveFile(ctx, c.owner, v.File)
	if err != nil {
		return nil, err
	}
	loaded := linkTo(c.add("LoadVideo", map[string]any{"file": name}), 0)
	if v.Start == 0 && v.Length == 0 {
		return loaded, nil
	}
	if !c.offers(videoSlice) {
		return nil, cannotCross("the server has no class %q to take a part of a video", videoSlice)
	}
	return linkTo(c.add(videoSlice, map[string]any{
		"video": loaded, "start_time": v.Start, "duration": v.Length, "strict_duration": false,
	}), 0), nil
}

// videoSlice is the class that cuts a part out of a video.
const videoSlice = "Video Slice"

// moveClip moves a video that has no file.
func (c *compiled) moveClip(ctx context.Context, v *media.Video) (any, error) {
	frames, err := c.moveImage(ctx, v.Frames)
	if err != nil {
		return nil, err
	}
	inputs := map[string]any{"images": frames, "fps": v.FPS}
	if v.Sound != nil {
		if inputs["audio"], err = c.moveSound(ctx, v.Sound); err != nil {
			return nil, err
		}
	}
	return linkTo(c.add("CreateVideo", inputs), 0), nil
}

// firstValueFile is the number of the first file that is kept as a value; smaller numbers are files that a node saves.
const firstValueFile = 1 << 20

// storeVideo stores the file of a video among the temporary files of the account.
func (f *follower) storeVideo(ctx context.Context, i int, out graph.SegmentOut, from comfyui.File) (node.Value, error) {
	content, err := f.d.fetch(ctx, f.r.Server, from, f.d.opts.MaxOutput)
	if err != nil {
		return nil, err
	}
	defer content.Close() // read only
	suffix := path.Ext(from.Name)
	kind, ok := node.MediaType(from.Name)
	if !ok {
		return nil, cannotCross("%s is not a video file", from.Name)
	}
	f.storedFiles++
	saved, err := f.r.Files(f.r.Segment.Nodes[out.Node].ID).Save(ctx, node.Save{
		Folder: node.FolderTemp, Prefix: "video/value", Suffix: "_" + suffix, ContentType: kind, Index: firstValueFile + i<<10 + f.storedFiles,
	}, func(w io.Writer) error { return f.c.copyFile(w, content) })
	if err != nil {
		return nil, tooLarge(err, from, f.d.opts.MaxOutput)
	}
	name := strings.TrimPrefix(saved.Subfolder+"/"+saved.Filename, "/")
	return &media.Video{File: name + " [" + string(saved.Folder) + "]"}, nil
}
