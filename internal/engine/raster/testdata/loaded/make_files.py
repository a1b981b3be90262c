import numpy as np, struct, zlib, sys
from PIL import Image
rng=np.random.default_rng(3)
y,x=np.mgrid[0:37,0:52]
base=np.stack([x*255//51,y*255//36,(x*7+y*5)%256],-1).astype(np.uint8)
smooth=np.stack([128+100*np.sin(x/9),128+100*np.cos(y/8),128+90*np.sin((x+y)/13)],-1).astype(np.uint8)
def chunk(k,d): return struct.pack('>I',len(d))+k+d+struct.pack('>I',zlib.crc32(k+d)&0xffffffff)
def png(path,w,h,depth,color,rows,extra=b''):
    raw=b''.join(b'\0'+r for r in rows)
    open(path,'wb').write(b'\x89PNG\r\n\x1a\n'+chunk(b'IHDR',struct.pack('>IIBBBBB',w,h,depth,color,0,0,0))+extra+chunk(b'IDAT',zlib.compress(raw))+chunk(b'IEND',b''))
g16=(x*1260+y*37).astype('>u2'); png('grey16.png',52,37,16,0,[r.tobytes() for r in g16])
rgb16=np.stack([x*1260,y*1771,(x*y*31)%65536],-1).astype('>u2'); png('rgb16.png',52,37,16,2,[r.tobytes() for r in rgb16])
rgba16=np.concatenate([rgb16,(x*1200)[...,None].astype('>u2')],-1).astype('>u2'); png('rgba16.png',52,37,16,6,[r.tobytes() for r in rgba16])
ga16=np.stack([x*1260,y*1771],-1).astype('>u2'); png('ga16.png',52,37,16,4,[r.tobytes() for r in ga16])
png('ga8.png',52,37,8,4,[np.stack([x*5,y*7],-1).astype(np.uint8)[i].tobytes() for i in range(37)])
png('grey_trns.png',52,37,8,0,[(x*4).astype(np.uint8)[i].tobytes() for i in range(37)],chunk(b'tRNS',struct.pack('>H',40)))
png('rgb_trns.png',52,37,8,2,[base[i].tobytes() for i in range(37)],chunk(b'tRNS',struct.pack('>HHH',*[int(v) for v in base[3,4]])))
png('rgb16_trns.png',52,37,16,2,[r.tobytes() for r in rgb16],chunk(b'tRNS',struct.pack('>HHH',*[int(v) for v in rgb16[3,4]])))
pal=b''.join(bytes([(i*37)%256,(i*91)%256,(i*13)%256]) for i in range(16))
png('pal.png',52,37,8,3,[((x+y)%16).astype(np.uint8)[i].tobytes() for i in range(37)],chunk(b'PLTE',pal))
png('pal_trns.png',52,37,8,3,[((x+y)%16).astype(np.uint8)[i].tobytes() for i in range(37)],chunk(b'PLTE',pal)+chunk(b'tRNS',bytes([0,50,100,200])))
png('grey1.png',48,37,1,0,[bytes([(i*37+j*11)%256 for j in range(6)]) for i in range(37)])
png('grey4.png',52,37,4,0,[bytes([(i*37+j*11)%256 for j in range(26)]) for i in range(37)])
png('pal2.png',52,37,2,3,[bytes([(i*37+j*11)%256 for j in range(13)]) for i in range(37)],chunk(b'PLTE',pal[:12]))
fr=[Image.fromarray(np.concatenate([np.roll(base,k*9,1),np.full((37,52,1),255-k*60,np.uint8)],-1)) for k in range(3)]
fr[0].save('apng.png',save_all=True,append_images=fr[1:],duration=100)
fr3=[Image.fromarray(np.roll(base,k*9,1)) for k in range(3)]
fr3[0].save('apng_rgb.png',save_all=True,append_images=fr3[1:],duration=100)
fr3[0].save('apng_default.png',save_all=True,append_images=fr3[1:],duration=100,default_image=True)
fr3[0].save('anim.gif',save_all=True,append_images=fr3[1:],duration=100)
fr3[0].save('anim.webp',save_all=True,append_images=fr3[1:],duration=100)
im=Image.fromarray(smooth)
for name,kw in dict(j444=dict(subsampling=0),j422=dict(subsampling=1),j420=dict(subsampling=2),prog=dict(subsampling=2,progressive=True)).items(): im.save(name+'.jpg',quality=90,**kw)
Image.fromarray(base).save('noisy420.jpg',quality=75,subsampling=2)
im.convert('CMYK').save('cmyk.jpg',quality=95)
im.convert('L').save('grey.jpg',quality=90)
for o in range(1,9):
    e=Image.Exif(); e[0x112]=o
    im.save('exif%d.jpg'%o,quality=95,subsampling=0,exif=e)
im.save('lossy.webp',quality=80); im.save('lossless.webp',lossless=True)
fr[1].save('rgba.webp',lossless=True); fr[1].save('rgba_lossy.webp',quality=80)
im.save('x.bmp'); im.save('x.tif'); im.save('still.gif')
Image.fromarray(g16.astype(np.uint16)).save('g16.tif')
