"""The leg of a bout in motion, beside a camera's film.

camera          a camera's film, frame by frame in time
captions        what is written in a movie
file            mp4 and the like through ffmpeg, gif through Pillow
make            the leg as a movie
panel           one view of the leg in a movie
renderer        drawing a frame: views, ground, captions
scene           what a movie shows, frame by frame, as plain arrays
"""
